/** The parts of `process.stdout` that the screen uses. */
export interface TerminalOutput {
  readonly columns: number;
  readonly rows: number;
  readonly writableLength: number;
  hasColors(count?: number): boolean;
  write(text: string): boolean;
  on(event: 'resize', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  once(event: 'drain', listener: () => void): unknown;
  off(event: 'resize' | 'drain', listener: () => void): unknown;
}

/** A terminal in use by the screen. */
export interface Terminal {
  /** Shows a frame. Writes only changed rows. Returns the length of the text that it wrote. */
  paint(frame: string): number;
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
  let shown: string[] | undefined;
  let latest = '';
  let isWaiting = false;
  let isOpen = true;
  stdout.write(enterSequence);

  const onDrain = () => {
    isWaiting = false;
    paint(latest);
  };
  const paint = (frame: string): number => {
    latest = frame;
    if (!isOpen || isWaiting) {
      return 0;
    }
    if (stdout.writableLength > 0) {
      // A slow terminal gets only the newest frame when it is ready.
      isWaiting = true;
      stdout.once('drain', onDrain);
      return 0;
    }
    const rows = frame.split('\n').slice(0, stdout.rows);
    const changes = changedRows(rows, shown);
    shown = rows;
    if (changes === '') return 0;
    const update = beginUpdate + changes + endUpdate;
    stdout.write(update);
    return update.length;
  };
  return {
    paint,
    invalidate: () => {
      shown = undefined;
    },
    restore: () => {
      if (isOpen) {
        isOpen = false;
        stdout.off('drain', onDrain);
        stdout.write(restoreSequence);
      }
    },
  };
}

function changedRows(rows: readonly string[], shown: readonly string[] | undefined): string {
  const clear = shown === undefined ? '\u001b[2J' : '';
  const shownRows = shown ?? [];
  const changes = Array.from({ length: Math.max(rows.length, shownRows.length) }, (_, index) => {
    const row = rows[index] ?? '';
    // Erases first, because at the right edge a later erase would remove the last character.
    return row === (shownRows[index] ?? '') ? '' : `\u001b[${index + 1};1H\u001b[K${row}`;
  });
  return clear + changes.join('');
}
