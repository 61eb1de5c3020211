"use strict";
// A radius that the reader moves: a line in the chart, the accuracies there, and which of the images it covers.
const explore = document.getElementById("explore");
const curves = Object.entries(JSON.parse(explore.dataset.radii)); // [certificate, radii of the right images, ascending]
const { step, end, images } = explore.dataset;
const sliders = document.querySelectorAll("input[type=range]");
const pictures = [...document.querySelectorAll("[data-radius]")];

const percent = (share) => (100 * share).toFixed(1) + "%";
const write = (name, text) => document.querySelectorAll(`[data-show="${name}"]`).forEach((e) => (e.textContent = text));

function show(stop) {
  const radius = Number((stop * step).toPrecision(6)); // as many digits as the radii have: comparing is exact
  document.getElementById("cursor").style.setProperty("--at", radius / end);
  let spoken = "";
  for (const [name, radii] of curves) {
    const right = radii.filter((r) => r >= radius).length;
    spoken = percent(right / images);
    write(name, spoken);
    write(`${name}-images`, `${right} of ${images}`);
  }
  write("radius", radius);
  pictures.forEach((e) => e.classList.toggle("lost", radius > 0 && Number(e.dataset.radius) < radius));
  write("kept", pictures.filter((e) => !e.classList.contains("lost")).length);
  for (const slider of sliders) {
    slider.value = stop;
    slider.setAttribute("aria-valuetext", `${radius}: ${spoken} certified`);
  }
}

for (const slider of sliders) slider.addEventListener("input", () => show(Number(slider.value)));

const area = document.getElementById("area");
function point(event) {
  const line = document.getElementById("track").getBoundingClientRect();
  const at = ((event.clientX - line.left) / line.width) * (end / step);
  show(Math.max(0, Math.min(Number(sliders[0].max), Math.round(at))));
}
area.addEventListener("pointerdown", point);
area.addEventListener("pointermove", (event) => event.buttons && point(event));

document.querySelectorAll("[data-live]").forEach((e) => (e.hidden = false));
show(Number(sliders[0].value));
