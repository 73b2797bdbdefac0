/** Shorter texts match only where they stand alone. */
export const minNeedleLength = 8;

/** True if no letter or digit is beside this part of the text. */
export function standsAlone(text: string, from: number, to: number): boolean {
  return !isAfterWord(text, from) && !isBeforeWord(text, to);
}

export const isAfterWord = (text: string, at: number): boolean =>
  /[\p{L}\p{N}]$/u.test(text.slice(Math.max(0, at - 2), at));

export const isBeforeWord = (text: string, at: number): boolean => /^[\p{L}\p{N}]/u.test(text.slice(at, at + 2));
