/** What the screen needs of a terminal; `process.stdout` has it. */
export interface TerminalOutput {
  readonly columns: number;
  readonly rows: number;
  readonly writableLength: number;
  hasColors(): boolean;
  write(text: string): boolean;
  on(event: 'resize', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  once(event: 'drain', listener: () => void): unknown;
  off(event: 'resize' | 'drain', listener: () => void): unknown;
}

/** A terminal while the screen has it. */
export interface Terminal {
  /** Shows a frame; writes only the rows that changed. */
  paint(frame: string): void;
  /** Forgets what is shown, so that the next frame is written whole. */
  invalidate(): void;
  /** Gives the terminal back as it was. Synchronous, and only the first call counts. */
  restore(): void;
}

// Alternate screen, no cursor, no wrap at the right edge: a character that is wider than expected must not break the row.
const enterSequence = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J';
const restoreSequence = '\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l';
const beginUpdate = '\u001b[?2026h';
const endUpdate = '\u001b[?2026l';

/** Takes the terminal over. Who calls this calls `restore`, whatever happens. */
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
  const paint = (frame: string) => {
    latest = frame;
    if (!isOpen || isWaiting) {
      return;
    }
    if (stdout.writableLength > 0) {
      // A slow terminal gets the newest frame when it is ready, not all those in between.
      isWaiting = true;
      stdout.once('drain', onDrain);
      return;
    }
    const rows = frame.split('\n').slice(0, stdout.rows);
    const changes = changedRows(rows, shown);
    shown = rows;
    if (changes !== '') {
      stdout.write(beginUpdate + changes + endUpdate);
    }
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
    // Erased before it is written: at the right edge an erase afterwards would take the last character.
    return row === (shownRows[index] ?? '') ? '' : `\u001b[${index + 1};1H\u001b[K${row}`;
  });
  return clear + changes.join('');
}
