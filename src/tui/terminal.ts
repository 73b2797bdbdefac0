import { emptyRow, type Row, rowChange } from './row.ts';

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
   * Shows a frame. Writes only what changed. Returns the number of bytes. Node waits for a terminal to take them, so a
   * slow one gets the next frame only then.
   */
  paint(frame: readonly Row[]): number;
  /** Makes the next frame be written whole. */
  invalidate(): void;
  /** Restores the terminal. Synchronous. Further calls do nothing. */
  restore(): void;
}

// Alternate screen, no cursor, no wrap at the right edge, because a character wider than expected must not break the
// row.
const enterSequence = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J';
/** Restores what `enterSequence` changed. */
export const restoreSequence = '\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l';
const beginUpdate = '\u001b[?2026h';
const endUpdate = '\u001b[?2026l';

/** Takes over the terminal. The caller must call `restore` in every case. */
export function openTerminal(stdout: TerminalOutput): Terminal {
  let shown: readonly Row[] | undefined;
  let isOpen = true;
  stdout.write(enterSequence);
  return {
    paint: (frame) => {
      if (!isOpen) return 0;
      const rows = frame.slice(0, stdout.rows);
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

function frameChanges(rows: readonly Row[], shown: readonly Row[] | undefined): string {
  const clear = shown === undefined ? '\u001b[2J' : '';
  const shownRows = shown ?? [];
  const changes = Array.from({ length: Math.max(rows.length, shownRows.length) }, (_, index) =>
    rowChange(index + 1, shownRows[index] ?? emptyRow, rows[index] ?? emptyRow),
  );
  return clear + changes.join('');
}
