import type { Clock } from '../clock.ts';
import { type Frame, frameText } from './frame-lines.ts';
import type { InkScreen, MountInkScreen } from './ink-screen.tsx';
import type { Key } from './key-bindings.ts';
import { openTerminal, type Terminal, type TerminalOutput } from './terminal.ts';
import { type GuardedProcess, guardTerminal } from './terminal-guard.ts';

interface Deps {
  stdout: TerminalOutput;
  stdin: NodeJS.ReadStream;
  clock: Clock;
  guarded: GuardedProcess;
  isInForeground: () => boolean;
  onKey: (input: string, key: Key) => void;
  /** Called when the terminal is back. Its content is lost. */
  onBack: () => void;
  /** Called when the process exits or the terminal is lost. */
  onEnd: () => void;
}

/** Milliseconds between two checks for the foreground, because a shell need not report it. */
const foregroundPeriodMs = 200;

/**
 * The terminal and the keyboard, which the screen uses or lends to a command or the shell.
 *
 * INVARIANTS:
 * - while it is lent, nothing is written, no key is read, and signals from its keys have no effect;
 * - after `close` the terminal is restored, and no timer is pending.
 */
export class ScreenTerminal {
  private terminal: Terminal;
  /** Undefined until ink is loaded. */
  private ink: InkScreen | undefined;
  /** Bytes of the frame being painted. */
  private written = 0;
  private readonly removeGuard: () => void;
  private isHeld = true;
  private isHandedOver = false;
  private isClosed = false;
  private cancelWait = (): void => undefined;

  constructor(private readonly deps: Deps) {
    const { stdout, stdin, guarded, onEnd } = deps;
    this.terminal = openTerminal(stdout);
    // These listeners stay, because a write to a lost terminal fails later and must not stop the process.
    stdout.on('error', onEnd);
    stdin.on('error', onEnd);
    this.removeGuard = guardTerminal(onEnd, guarded, () => this.isLent);
    guarded.on('SIGCONT', this.onContinue);
  }

  /** Keys that are typed before they are read must not be echoed. */
  silenceKeys(): void {
    this.setRaw(true);
  }

  /** Draws and reads keys with ink until closed. Rejects if ink fails. */
  async mount(mountInkScreen: MountInkScreen): Promise<void> {
    const { stdin, onKey } = this.deps;
    if (this.isClosed) return;
    this.ink = mountInkScreen({ stdin, onKey, onFrame: this.onFrame });
    this.ink.listen(this.isHeld);
    await this.ink.exited;
  }

  /** Shows a frame. Returns its number of bytes, which is 0 while the terminal is lent. */
  paint(frame: Frame): number {
    if (!this.isHeld) return 0;
    this.written = 0;
    if (this.ink === undefined) this.onFrame(frameText(frame));
    else this.ink.draw(frame);
    return this.written;
  }

  private readonly onFrame = (text: string): void => {
    if (this.isHeld) this.written += this.terminal.paint(text);
  };

  /** Causes the next frame to be written as a whole. */
  invalidate(): void {
    this.terminal.invalidate();
  }

  /** True while a command uses the terminal. */
  get isLent(): boolean {
    return this.isHandedOver && !this.isClosed;
  }

  /** Lets a command use the terminal. */
  async lend<T>(use: (stdout: TerminalOutput) => Promise<T>): Promise<T> {
    this.isHandedOver = true;
    await this.release();
    const result = await use(this.deps.stdout);
    this.isHandedOver = false;
    this.onContinue();
    return result;
  }

  /**
   * Handles ^Z as a shell expects: restores the terminal and stops this process until `fg`. The agent is another
   * process.
   */
  async suspend(): Promise<void> {
    await this.release();
    this.deps.guarded.kill(0, 'SIGTSTP');
  }

  close(): void {
    this.isClosed = true;
    this.cancelWait();
    this.terminal.restore();
    // ink does this too, but too late for an exiting process.
    this.setRaw(false);
    this.ink?.unmount();
    this.removeGuard();
    this.deps.guarded.off('SIGCONT', this.onContinue);
  }

  private async release(): Promise<void> {
    this.isHeld = false;
    this.ink?.listen(false);
    // React releases the keyboard after that.
    await new Promise(setImmediate);
    this.setRaw(false);
    this.deps.stdin.pause();
    this.terminal.restore();
  }

  /**
   * Called after any stop of this process, because a shell used the terminal meanwhile. In the background it only
   * waits: there, a shell could miss that the kernel stopped the process, and `fg` would not continue it.
   */
  private readonly onContinue = (): void => {
    const { stdout, clock, isInForeground, onBack } = this.deps;
    if (this.isClosed || this.isHandedOver) return;
    this.cancelWait();
    if (!isInForeground()) {
      this.isHeld = false;
      this.ink?.listen(false);
      this.cancelWait = clock.after(foregroundPeriodMs, this.onContinue);
      return;
    }
    this.isHeld = true;
    this.setRaw(true);
    this.ink?.listen(true);
    this.terminal.restore();
    this.terminal = openTerminal(stdout);
    onBack();
  };

  private setRaw(isRaw: boolean): void {
    const { stdin } = this.deps;
    if (stdin.isTTY) stdin.setRawMode(isRaw);
  }
}
