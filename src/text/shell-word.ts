/** Returns a word so that every shell reads it back, quoted if necessary. */
export function shellWord(word: string): string {
  return isBare(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * Returns a command on one line that a person can copy. A word with control characters, such as a script of several
 * lines, is written as `$'…'`, which bash, zsh and busybox understand.
 */
export function shellLine(words: readonly string[]): string {
  // eslint-disable-next-line no-control-regex -- these are the characters to escape
  return words.map((word) => (/[\0-\x1f\x7f]/.test(word) ? escapedWord(word) : shellWord(word))).join(' ');
}

/** zsh replaces `=name` with the path of a program. */
const isBare = (word: string): boolean => /^(?!=)[\w@%+=:,./-]+$/.test(word);

function escapedWord(word: string): string {
  // eslint-disable-next-line no-control-regex -- these are the characters to escape
  return `$'${word.replace(/[\0-\x1f\x7f'\\!]/g, escaped)}'`;
}

/** Octal, because a shell accepts any number of hexadecimal digits. */
function escaped(character: string): string {
  if (character === '\n') return String.raw`\n`;
  return `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`;
}
