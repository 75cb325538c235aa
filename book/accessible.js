// What the theme leaves out for those who hear a page or use no mouse.
document$.subscribe(() => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  const all = (selector, change) => document.querySelectorAll(selector).forEach(change);
  const rest = () => {
    all(".md-typeset__scrollwrap, .md-typeset pre > code", (box) => box.setAttribute("tabindex", "0"));
    all(".md-annotation__index", (link) => link.setAttribute("aria-label", "What this instruction is"));
  };
  rest();
  // Tables and marks are wrapped when they come into view.
  new MutationObserver(rest).observe(document.querySelector(".md-content") ?? document.body, { childList: true, subtree: true });
});
