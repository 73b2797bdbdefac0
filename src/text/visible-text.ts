/**
 * Matches characters that move the cursor, change the colour or direction of text, or begin a new line: control
 * characters, line and paragraph separators, and direction marks.
 */
const unseen = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;
const unseenInJSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** True for ASCII without control characters, where each character takes one terminal column. */
export const isPlain = (text: string): boolean => /^[ -~]*$/.test(text);

/**
 * Makes a text safe for a terminal, on one line. Shows control characters as escapes such as `\x1b[31m`, like `ls -b`.
 */
export function visible(text: string): string {
  return text.replace(unseen, escaped);
}

/**
 * Returns `text` on one line, with spaces for line breaks. Makes other control characters visible, because output of
 * containers and manifests must not control the terminal.
 */
export function printable(text: string): string {
  return isPlain(text) ? text : visible(text.replace(/[\n\r\t]+/g, ' '));
}

/** Like `visible`, but keeps line breaks and tabs. */
export function visibleLines(text: string): string {
  return text.replace(unseen, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  );
}

/** Makes JSON safe for a terminal without changing its meaning. */
export function visibleJSON(json: string): string {
  return json.replace(unseenInJSON, (character) => `\\u${hex(character, 4)}`);
}

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return short[character] ?? (code < 0x100 ? `\\x${hex(character, 2)}` : `\\u${hex(character, 4)}`);
}

const hex = (character: string, digits: number): string => character.charCodeAt(0).toString(16).padStart(digits, '0');
