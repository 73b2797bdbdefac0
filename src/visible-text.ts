/**
 * What moves the cursor, colours or reverses text, or begins a new line: control characters, the separators of lines and
 * paragraphs, and the marks that change the direction of writing.
 */
const unseen = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;
const unseenInJSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** A text on one line that does nothing to a terminal: `\x1b[31m` in place of what makes it red, as `ls -b` shows it. */
export function visible(text: string): string {
  return text.replace(unseen, escaped);
}

/** The same of a text whose line breaks and tabs are meant. */
export function visibleLines(text: string): string {
  return text.replace(unseen, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  );
}

/** JSON that says the same and does nothing to a terminal. */
export function visibleJSON(json: string): string {
  return json.replace(unseenInJSON, (character) => `\\u${hex(character, 4)}`);
}

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return short[character] ?? (code < 0x100 ? `\\x${hex(character, 2)}` : `\\u${hex(character, 4)}`);
}

const hex = (character: string, digits: number): string => character.charCodeAt(0).toString(16).padStart(digits, '0');
