import { emptyRow, type Row, rowChange, rowOf } from './row.ts';

/** The parts of `process.stdout` that the screen uses. */
export interface TerminalOutput {
  readonly columns: number;
  readonly rows: number;
  hasColors(count?: number): boolean;
  write(text: string): boolean;
  on(event: 'resize', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

/** A terminal in use by the screen. */
export interface Terminal {
  /**
   * Shows a frame, one line per row. Writes only what changed. Returns the number of bytes. Node waits until the
   * terminal accepts them, so a slow one gets the next frame only then.
   */
  paint(frame: string): number;
  /** Causes the next frame to be written as a whole. */
  invalidate(): void;
  /** Restores the terminal. Synchronous. More calls do nothing. */
  restore(): void;
}

// Alternate screen, no cursor, no wrap at the right edge, because a character wider than expected must not break the
// row.
const enterSequence = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J';
/** Restores what `enterSequence` changed. */
export const restoreSequence = '\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l';
const beginUpdate = '\u001b[?2026h';
const endUpdate = '\u001b[?2026l';

/** Prepares the terminal for the screen. The caller must always call `restore`. */
export function openTerminal(stdout: TerminalOutput): Terminal {
  let shown: readonly ShownRow[] | undefined;
  let isOpen = true;
  stdout.write(enterSequence);
  return {
    paint: (frame) => {
      if (!isOpen) return 0;
      const lines = frame.split('\n').slice(0, stdout.rows);
      const rows = lines.map((line, index) => {
        const before = shown?.[index];
        return before?.line === line ? before : { line, row: rowOf(line) };
      });
      const changes = frameChanges(rows, shown);
      shown = rows;
      if (changes === '') return 0;
      const update = beginUpdate + changes + endUpdate;
      stdout.write(update);
      return Buffer.byteLength(update);
    },
    invalidate: () => {
      shown = undefined;
    },
    restore: () => {
      if (isOpen) {
        isOpen = false;
        stdout.write(restoreSequence);
      }
    },
  };
}

interface ShownRow {
  /** As received. */
  line: string;
  row: Row;
}

function frameChanges(rows: readonly ShownRow[], shown: readonly ShownRow[] | undefined): string {
  const clear = shown === undefined ? '\u001b[2J' : '';
  const shownRows = shown ?? [];
  const changes = Array.from({ length: Math.max(rows.length, shownRows.length) }, (_, index) =>
    rowChange(index + 1, shownRows[index]?.row ?? emptyRow, rows[index]?.row ?? emptyRow),
  );
  return clear + changes.join('');
}
