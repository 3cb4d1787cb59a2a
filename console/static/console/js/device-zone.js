// Puts the time zone of this device into a field.
export function attachDeviceZone(button) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!zone) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const field = document.getElementById(button.dataset.for);
    field.value = zone;
    field.focus();
  });
}
