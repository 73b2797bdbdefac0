import { isNarrow } from '../text/display-width.ts';
import { type Run, runsOf } from './runs.ts';

/** One row of the terminal, without trailing spaces. */
export interface Row {
  runs: readonly Run[];
  /** As sent to the terminal. Equal rows have equal texts. */
  text: string;
}

export const emptyRow: Row = { runs: [], text: '' };

/** This number of equal cells is written again, because skipping them takes as many bytes. */
const shortGap = 7;

/** The row of a text with sequences for bold, inverse and colors. Texts that look the same give equal rows. */
export function rowOf(text: string): Row {
  const kept = withoutBlankEnd(runsOf(text));
  const texts = kept.map(({ text, style }) => (style === '' ? text : `${styleChange(style)}${text}${styleChange('')}`));
  return { runs: kept, text: texts.join('') };
}

/**
 * Returns the escape sequence that repaints row `before` on line `line` (from 1) as `after`. Empty if they are equal.
 */
export function rowChange(line: number, before: Row, after: Row): string {
  if (before.text === after.text) return '';
  const [old, next] = [cellsOf(before), cellsOf(after)];
  if (old !== undefined && next !== undefined) return cellChanges(line, old, next);
  // Erases first, because at the right edge a later erase would remove the last character.
  return `${moveTo(line, 0)}\u001b[K${after.text}`;
}

/** The characters of a row by column, and the style of each. */
interface Cells {
  characters: string;
  styles: readonly string[];
}

/** Returns undefined for a row with characters that terminals may show with another width. */
function cellsOf({ runs }: Row): Cells | undefined {
  const characters = runs.map(({ text }) => text).join('');
  if (!isNarrow(characters)) return undefined;
  const styles: string[] = [];
  for (const { text, style } of runs) for (let rest = text.length; rest > 0; rest -= 1) styles.push(style);
  return { characters, styles };
}

function cellChanges(line: number, before: Cells, after: Cells): string {
  const { length } = after.characters;
  let changes = '';
  let style = '';
  // The column after the last one that was written.
  let written = -Infinity;
  for (let column = 0; column < length; column += 1) {
    const isSame =
      (before.characters[column] ?? ' ') === after.characters[column] &&
      (before.styles[column] ?? '') === after.styles[column];
    if (isSame) continue;
    const from = column - written <= shortGap ? written : column;
    if (from === column && column !== written) changes += moveTo(line, column);
    for (let next = from; next <= column; next += 1) {
      const wanted = after.styles[next] ?? '';
      if (wanted !== style) changes += styleChange(wanted);
      style = wanted;
      changes += after.characters[next] ?? '';
    }
    written = column + 1;
  }
  if (style !== '') changes += styleChange('');
  if (before.characters.length <= length) return changes;
  return `${changes}${written === length ? '' : moveTo(line, length)}\u001b[K`;
}

const moveTo = (line: number, column: number): string => `\u001b[${line};${column + 1}H`;

/** A leading empty parameter ends the style before. */
const styleChange = (style: string): string => `\u001b[${style === '' ? '' : `;${style}`}m`;

function withoutBlankEnd(runs: readonly Run[]): Run[] {
  const kept = [...runs];
  for (let last = kept.pop(); last !== undefined; last = kept.pop()) {
    const text = last.style === '' ? last.text.trimEnd() : last.text;
    if (text !== '') return [...kept, { ...last, text }];
  }
  return [];
}
