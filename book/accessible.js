// What the theme leaves out for those who hear a page or use no mouse.
document$.subscribe(() => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  const all = (selector, change) => document.querySelectorAll(selector).forEach(change);
  const rest = () => {
    all(".md-typeset__scrollwrap, .md-typeset pre > code", (box) => box.setAttribute("tabindex", "0"));
    all(".md-code__nav", (box, n) => box.setAttribute("aria-label", `Listing ${n + 1}`));
    // A section whose name is a link is labelled by what is empty.
    all(".md-nav[aria-labelledby]", (box) => {
      const link = box.parentElement.querySelector(".md-nav__link");
      if (!document.getElementById(box.getAttribute("aria-labelledby"))?.textContent.trim() && link) box.setAttribute("aria-label", link.textContent.trim()), box.removeAttribute("aria-labelledby");
    });
    all(".md-annotation__index", (link) => link.setAttribute("aria-label", "What this instruction is"));
  };
  rest();
  // Tables and marks are wrapped when they come into view.
  new MutationObserver(rest).observe(document.querySelector(".md-content") ?? document.body, { childList: true, subtree: true });
});
