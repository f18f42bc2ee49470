const integer = new Intl.NumberFormat("en");

export const count = (number) => (Number.isFinite(number) ? integer.format(number) : "\u2013");

/** Milliseconds of an ISO 8601 duration such as PT3.2S, or NaN. */
export function duration(iso) {
  const match = /^(-)?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(-?[\d.]+)S)?)?$/.exec(iso ?? "");
  if (!match) {
    return NaN;
  }
  const [, sign, days, hours, minutes, seconds] = match;
  const total = ((((days ?? 0) * 24 + +(hours ?? 0)) * 60 + +(minutes ?? 0)) * 60 + +(seconds ?? 0)) * 1000;
  return sign ? -total : total;
}

/** The time of day, exact to the second or to the millisecond. */
export function time(instant, digits = 0) {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) {
    return "\u2013";
  }
  return date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit",
    fractionalSecondDigits: digits || undefined });
}

// Between a figure and its unit no line may break.
const unit = (figure, name) => figure + "\u00a0" + name;

/** 5000 as 5 s, 200 as 0.2 s. */
export function seconds(millis) {
  return Number.isFinite(millis) ? unit(+(millis / 1000).toFixed(2), "s") : "\u2013";
}

/** How long something takes by now: tenths of a second at first, whole units later. */
export function span(millis) {
  if (!Number.isFinite(millis)) {
    return "\u2013";
  }
  const positive = Math.max(0, millis);
  if (positive < 10_000) {
    return unit((positive / 1000).toFixed(1), "s");
  }
  const whole = Math.floor(positive / 1000);
  if (whole < 60) {
    return unit(whole, "s");
  }
  return unit(Math.floor(whole / 60), "min") + " " + unit(whole % 60, "s");
}

export const millis = (number) => (Number.isFinite(number) ? unit(integer.format(Math.round(number)), "ms") : "\u2013");

export const plural = (number, one, many = one + "s") => count(number) + " " + (number === 1 ? one : many);
