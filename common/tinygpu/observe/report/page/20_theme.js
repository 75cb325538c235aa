// Light, dark, or as the system has it.

function set_up_theme() {
  const box = document.getElementById("theme");
  box.hidden = false;
  box.addEventListener("change", (event) => {
    const theme = event.target.value;
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  });
}
