// Keeps the site for readers without a network. book/offline/fill.py writes the version and the files of a built site into the next two lines.
const VERSION = "";
const FILES = [];

const CACHE = `gen5-${VERSION}`;

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then(async (cache) => {
    for (let at = 0; at < FILES.length; at += 20)
      await cache.addAll(FILES.slice(at, at + 20).map((file) => new Request(file, {cache: "no-cache"})));
  }));
});
// A new version answers once no page of the old one is open, so that a page never mixes both.
self.addEventListener("activate", (event) => {
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter((n) => n.startsWith("gen5-") && n !== CACHE).map((n) => caches.delete(n)))).then(() => self.clients.claim()));
});
self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== location.origin) return;
  const asked = url.pathname.endsWith("/") ? url.href.replace(/[?#].*$/, "") + "index.html" : event.request;
  event.respondWith(caches.open(CACHE).then(async (cache) => {
    const kept = await cache.match(asked, {ignoreSearch: true});
    if (kept) return kept;
    const answer = await fetch(event.request);
    if (answer.ok) cache.put(asked, answer.clone());
    return answer;
  }));
});
