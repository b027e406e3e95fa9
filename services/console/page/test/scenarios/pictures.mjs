// Pictures of items: run(visitor, origin). The service takes them from https://cdn.shop, or, where the origin is *, from anywhere.
import { WIDE } from "../visitor.mjs";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const IMAGES = {
  own: `data:image/png;base64,${PIXEL}`,
  cdn: "https://CDN.shop:443/a.png",
  elsewhere: "https://other.example/b.png",
  beside: "https://cdn.shop.evil.example/c.png",
  script: "javascript:window.hacked=1",
  broken: "https://cdn.shop/gone.png",
  none: undefined,
};

export async function run(visitor, origin) {
  const all = origin === "*";
  const time = String(Date.now());
  const ids = Object.keys(IMAGES);
  const fields = (id) => [{ name: "title", value: id }, ...(IMAGES[id] ? [{ name: "picture", value: IMAGES[id] }] : [])];
  await visitor.ask("/feedback", ids.map((item) => ({ event: "item", id: item, item, timestamp: time, fields: fields(item) })));
  await visitor.ask("/rank/keep", { id: "r", timestamp: time, user: "jane", items: ids.map((id) => ({ id })) });
  ["https://cdn.shop", ...(all ? ["https://other.example", "https://cdn.shop.evil.example"] : [])].forEach((origin) => visitor.origins.add(origin));

  visitor.refusals.add(404);
  const page = await visitor.open("", { size: WIDE });
  const asked = new Set();
  await page.route(/^https:/, (route) => {
    const url = route.request().url();
    asked.add(url);
    return url.endsWith("/gone.png") ? route.fulfill({ status: 404 }) : route.fulfill({ contentType: "image/png", body: Buffer.from(PIXEL, "base64") });
  });
  await page.getByRole("link", { name: "Try a ranking" }).click();
  const list = page.getByRole("listbox", { name: "Order of keep" });
  visitor.matches(await page.locator(".context").innerText(), /visitor jane/, "ids of visitors are shown where the configuration says so");
  await list.locator("[data-item=broken] span.picture").waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll("img")].every((image) => image.complete && image.naturalWidth > 0));
  const shown = await list.locator("[role=option]").evaluateAll((rows) => rows.filter((row) => row.querySelector("img.picture")).map((row) => row.dataset.item));
  visitor.equal(shown, ["own", "cdn", ...(all ? ["elsewhere", "beside"] : [])], "pictures of origins that are allowed");
  visitor.equal(await list.locator("span.picture").count(), ids.length - shown.length, "a placeholder for all others");
  const wanted = ["https://cdn.shop/a.png", "https://cdn.shop/gone.png", ...(all ? [IMAGES.elsewhere, IMAGES.beside] : [])];
  visitor.equal([...asked].sort(), wanted.sort(), "nothing else is asked for");
  visitor.equal(await page.evaluate(() => globalThis.hacked), undefined, "nothing ran");
  await visitor.accessible(page, "pictures");
  await visitor.close(page);
}
