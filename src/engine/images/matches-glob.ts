/**
 * Whether a text is as a pattern says: `*` for any characters, `?` for one, `[a-z]` and `[^a-z]` for one of a class, and
 * `\` before a character for that one. A broken pattern matches nothing. Go: path/filepath Match, of one path element
 */
export function matchesGlob(pattern: string, text: string): boolean {
  const source = pattern.replaceAll(
    /\[(\^?)((?:[^\]\\]|\\.)+)\]|\\(.)|[^]/g,
    (token: string, not?: string, members?: string, escaped?: string) => {
      if (members !== undefined) return `[${not ?? ''}${members}]`;
      if (escaped !== undefined) return literal(escaped);
      if (token === '*') return '.*';
      return token === '?' ? '.' : token === '[' ? neverMatches : literal(token);
    },
  );
  try {
    return new RegExp(`^${source}$`, 's').test(text);
  } catch {
    // A range from later to earlier, say.
    return false;
  }
}

const neverMatches = '(?!)';

const literal = (character: string): string => character.replace(/[$()*+./?[\\\]^{|}-]/, String.raw`\$&`);
