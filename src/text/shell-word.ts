/** A word as every shell reads it back, quoted where needed. */
export function shellWord(word: string): string {
  return isBare(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * A command on one line, for a person to copy. A word with control characters, such as a script of several lines, is
 * written as `$'…'`. bash, zsh and busybox read that.
 */
export function shellLine(words: readonly string[]): string {
  // eslint-disable-next-line no-control-regex -- these are the characters to escape
  return words.map((word) => (/[\0-\x1f\x7f]/.test(word) ? escapedWord(word) : shellWord(word))).join(' ');
}

/** zsh replaces `=name` by the path of a program. */
const isBare = (word: string): boolean => /^(?!=)[\w@%+=:,./-]+$/.test(word);

function escapedWord(word: string): string {
  // eslint-disable-next-line no-control-regex -- these are the characters to escape
  return `$'${word.replace(/[\0-\x1f\x7f'\\!]/g, escaped)}'`;
}

/** Octal, because a shell takes any number of hexadecimal digits. */
function escaped(character: string): string {
  if (character === '\n') return String.raw`\n`;
  return `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`;
}
