/** Returns the forms in which a value may appear in a text. Never throws, because each line of the log needs them. */
export function formsOf(value: string): Set<string> {
  const quoted = JSON.stringify(value).slice(1, -1);
  const quotedTwice = JSON.stringify(quoted).slice(1, -1);
  return new Set([value, quoted, quotedTwice, encodeURIComponent(toText(value)), ...base64Forms(value)]);
}

/** Invalid UTF-8 and halves of surrogate pairs become replacement characters, as in every output. */
export const toText = (value: string | Uint8Array): string => Buffer.from(value).toString('utf8');

/** Shorter base64 would match other text by chance. */
const minBase64Length = 8;

/**
 * Returns the value in base64 at each of the three offsets that it can have in a longer text. Omits characters that
 * also encode neighbouring bytes.
 */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value);
  const inner = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replaceAll('=', '');
    const from = offset === 0 ? 0 : offset + 1;
    const isWhole = (offset + bytes.length) % 3 === 0;
    return text.slice(from, isWhole ? undefined : -1);
  });
  const long = inner.filter((text) => text.length >= minBase64Length);
  return [...long, ...long.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))];
}
