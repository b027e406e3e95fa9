// A screenshot as a small file: with 256 of its colours, and the nearest of these for all others.
import { deflateSync, inflateSync } from "node:zlib";

const COLOURS = 256;
const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

/** Of a PNG as Chromium writes it: eight bits for each of three or four channels, not interlaced. */
export function smaller(png) {
  const { width, height, channels, data } = read(png);
  const pixels = unfiltered(inflateSync(data), width, height, channels);
  const colours = new Uint32Array(width * height);
  const counts = new Map();
  for (let at = 0; at < colours.length; at++) {
    const from = at * channels;
    colours[at] = (pixels[from] << 16) | (pixels[from + 1] << 8) | pixels[from + 2];
    counts.set(colours[at], (counts.get(colours[at]) ?? 0) + 1);
  }
  const palette = chosen([...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || a - b));
  const places = new Map(palette.map((colour, place) => [colour, place]));
  for (const colour of counts.keys()) if (!places.has(colour)) places.set(colour, nearest(palette, colour));

  const rows = Buffer.alloc((width + 1) * height); // each begins with its filter, none
  for (let at = 0; at < colours.length; at++) rows[at + Math.floor(at / width) + 1] = places.get(colours[at]);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const table = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([SIGNATURE, chunk("IHDR", head), chunk("PLTE", table), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

function read(png) {
  const parts = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20), channels: png[25] === 6 ? 4 : 3, data: Buffer.concat(parts) };
}

/** Each row stores how it differs from what stands left of it, above it, or both. */
function unfiltered(raw, width, height, channels) {
  const length = width * channels;
  const pixels = Buffer.alloc(length * height);
  for (let row = 0; row < height; row++) {
    const filter = raw[row * (length + 1)];
    for (let at = 0; at < length; at++) {
      const place = row * length + at;
      const left = at >= channels ? pixels[place - channels] : 0;
      const up = row > 0 ? pixels[place - length] : 0;
      const corner = at >= channels && row > 0 ? pixels[place - length - channels] : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      pixels[place] = raw[row * (length + 1) + 1 + at] + guess;
    }
  }
  return pixels;
}

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** The most frequent ones, and of the others those that are unlike each other. */
function chosen(colours) {
  const found = new Set(colours.slice(0, COLOURS / 2));
  const kind = (colour) => colour & 0xf0f0f0;
  const kinds = new Set([...found].map(kind));
  for (const colour of colours) {
    if (found.size === COLOURS) break;
    if (!kinds.has(kind(colour))) found.add(colour), kinds.add(kind(colour));
  }
  return [...found];
}

function nearest(palette, colour) {
  let [best, least] = [0, Infinity];
  palette.forEach((other, place) => {
    const far = ((colour >> 16) - (other >> 16)) ** 2 + (((colour >> 8) & 255) - ((other >> 8) & 255)) ** 2 + ((colour & 255) - (other & 255)) ** 2;
    if (far < least) [best, least] = [place, far];
  });
  return best;
}

function chunk(name, data) {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

function crc32(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (0xedb88320 & -(sum & 1));
  }
  return ~sum >>> 0;
}
