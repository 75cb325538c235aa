// Served by http, the site can be installed, and keeps itself for readers without a network (sw.js). Opened as files it is there anyway.
if (location.protocol.startsWith("http")) {
  const own = document.querySelector('script[src$="register.js"]').src;
  document.head.append(Object.assign(document.createElement("link"), {rel: "manifest", href: new URL("manifest.webmanifest", own)}));
  if ("serviceWorker" in navigator) addEventListener("load", () => navigator.serviceWorker.register(new URL("sw.js", own)).catch(() => {}));
}
