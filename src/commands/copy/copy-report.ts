import type { Clock } from '../../clock.ts';
import { visible } from '../../text/visible-text.ts';
import type { OutputStream } from '../io/deps.ts';

/** Milliseconds between two updates of the progress. */
const periodMs = 200;
const barWidth = 20;
const maxNamed = 5;

interface Deps {
  stderr: OutputStream;
  clock: Pick<Clock, 'monotonic'>;
}

/** Counts copied entries and bytes, shows the progress on a terminal, and prints warnings. Names are bytes. */
export class CopyReport {
  private readonly startedMonotonic: number;
  private drawnMonotonic = -Infinity;
  private entries = 0;
  private byteCount = 0;
  private file = { name: '', doneBytes: 0, totalBytes: 0 };
  private warnings = 0;
  private isDrawn = false;

  constructor(private readonly deps: Deps) {
    this.startedMonotonic = deps.clock.monotonic();
  }

  /** Reports that the next file, folder or link starts. */
  entry(name: string, sizeBytes = 0): void {
    this.entries += 1;
    this.file = { name, doneBytes: 0, totalBytes: sizeBytes };
    this.draw();
  }

  /** Reports copied bytes of the current file. */
  bytes(count: number): void {
    this.byteCount += count;
    this.file.doneBytes += count;
    this.draw();
  }

  /** Reports a device, pipe or socket that was left out. */
  skipped(name: string): void {
    this.warn(`skipped ${shownName(name)}: only files, folders and links are copied`);
  }

  changed(name: string): void {
    this.warn(`${shownName(name)} shrank while it was copied`);
  }

  /** Reports a copied link that points outside the copy. */
  outside(name: string, target: string): void {
    this.warn(`${shownName(name)} is a link to a path outside the copy: ${shownName(target)}`);
  }

  /** Erases the progress, and prints how many warnings were not shown. */
  end(): void {
    this.erase();
    const more = this.warnings - maxNamed;
    if (more > 0) this.deps.stderr.write(`warning: ${more} more\n`);
  }

  private warn(text: string): void {
    this.warnings += 1;
    if (this.warnings > maxNamed) return;
    this.erase();
    this.deps.stderr.write(`warning: ${text}\n`);
  }

  private draw(): void {
    const { stderr, clock } = this.deps;
    const now = clock.monotonic();
    if (stderr.isTTY !== true || now - this.drawnMonotonic < periodMs) return;
    this.drawnMonotonic = now;
    this.isDrawn = true;
    const seconds = Math.max(0.001, (now - this.startedMonotonic) / 1000);
    const rate = `${sizeText(this.byteCount / seconds)}/s`;
    const counts = `${this.entries} entries, ${sizeText(this.byteCount)}, ${rate}`;
    const line = `${counts} ${bar(this.file)} ${shownName(this.file.name)}`;
    stderr.write(`\r\x1b[K${line.slice(0, (stderr.columns ?? 80) - 1)}`);
  }

  private erase(): void {
    if (this.isDrawn) this.deps.stderr.write('\r\x1b[K');
    this.isDrawn = false;
  }
}

/** A bar for the current file, if the file is large. */
function bar({ doneBytes, totalBytes }: { doneBytes: number; totalBytes: number }): string {
  if (totalBytes < 1_000_000) return '';
  const part = Math.min(1, doneBytes / totalBytes);
  const filled = Math.round(part * barWidth);
  return `[${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}] ${Math.floor(part * 100)}%`;
}

function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power] ?? ''}`;
}

const shownName = (name: string): string => visible(Buffer.from(name, 'latin1').toString('utf8').slice(0, 200));
