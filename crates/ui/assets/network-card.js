// A network as a picture: the longer the road the farther, the wider the faster, gaps where packets are lost.
import { html } from "/htm-preact.js";

const number = (value, digits = 2) => Number(value.toPrecision(digits)).toString();

export function rate(bits) {
  if (bits > 1e15) return "unlimited";
  if (bits >= 1e6) return `${number(bits / 1e6)} Mbit/s`;
  return `${number(bits / 1e3)} kbit/s`;
}

export function NetworkCard({ network, isChosen, onChange }) {
  const far = Math.min(1, Math.log10(1 + network.rtt_ms) / 3);
  const fast = Math.min(1, Math.max(0.1, Math.log10(network.down_bit_per_s / 1e4) / 4));
  const end = 24 + 88 * far;
  const gaps = network.loss > 0 ? "7 5" : null;
  return html`
    <label class="card ${isChosen ? "chosen" : ""}">
      <input type="checkbox" name="network" value=${network.name} checked=${isChosen} onChange=${onChange} />
      <span class="name">${network.name}</span>
      <svg viewBox="0 0 136 34" aria-hidden="true">
        <rect x="4" y="8" width="10" height="18" rx="2" class="end" />
        <line x1="18" x2=${end} y1="17" y2="17" class="road" stroke-width=${2 + 18 * fast} stroke-dasharray=${gaps} />
        <rect x=${end + 4} y="6" width="14" height="22" rx="1" class="end" />
      </svg>
      <span class="small">${rate(network.down_bit_per_s)} · ${number(network.rtt_ms, 3)} ms${
        network.loss > 0 ? ` · ${number(network.loss * 100)} % loss` : ""}${network.radio ? ` · ${network.radio}` : ""}</span>
    </label>`;
}
