import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../clock.ts';
import type { KubeletEvent } from '../../engine/view/events.ts';
import type { RemoteEngineView } from '../../engine/view/snapshot.ts';
import { commandText, decideCommand, splitArgs, withFlags } from '../../tui/command-line.ts';
import { eventKindOf } from '../../tui/event-lines.ts';
import { changedPodLines, plainEventLines } from '../../tui/plain-lines.ts';
import type { RunningCommand, ScreenCommands } from '../../tui/screen-commands.ts';

interface LineMode {
  view: RemoteEngineView;
  stdin: Readable;
  stdout: Writable;
  commands: ScreenCommands;
  clock: Clock;
  isReadOnly: boolean;
}

/** Milliseconds between two checks for changes. */
const checkPeriodMs = 1000;

/**
 * The screen as plain lines, for a screen reader or a terminal without a cursor: all pods, then each change. A typed
 * line is a command, and stops the one before. Resolves after `q` or the end of stdin.
 */
export async function showLines({ view, stdin, stdout, commands, clock, isReadOnly }: LineMode): Promise<void> {
  const seen = new Map<string, string>();
  const print = (lines: readonly string[]): void => void stdout.write(lines.map((line) => `${line}\n`).join(''));
  let events: KubeletEvent[] = [];
  let wasLost = false;
  const unsubscribe = view.subscribe((event) => {
    if (eventKindOf(event) !== undefined) events.push(event);
  });
  const printChanges = (): void => {
    const silence = view.silence();
    if ((silence !== undefined) !== wasLost)
      print([silence === undefined ? 'kubelet-ts is back' : `LOST: ${silence.message}`]);
    wasLost = silence !== undefined;
    print([...plainEventLines(events), ...changedPodLines(seen, view.snapshot(), clock.now())]);
    events = [];
    cancel = clock.after(checkPeriodMs, printChanges);
  };
  let cancel = (): void => undefined;
  print([
    `kubelet-ts ${view.snapshot().nodeName}, ${view.snapshot().pods.length} pods. Type a command such as explain POD, or q.`,
  ]);
  printChanges();
  let asked: readonly string[] | undefined;
  let running: RunningCommand | undefined;
  try {
    for await (const line of createInterface({ input: stdin })) {
      const isConfirmed = line.trim() === 'y' && asked !== undefined;
      const args = isConfirmed ? (asked ?? []) : splitArgs(line);
      asked = undefined;
      running?.end();
      if (args[0] === 'q') break;
      if (args.length === 0) continue;
      const decision = decideCommand(args, { isReadOnly, isConfirmed, pod: undefined });
      if (decision.type === 'refuses') print([decision.message]);
      else if (decision.type === 'takesTerminal')
        print([`In a shell: ${commandText(withFlags(decision.args, commands.flags))}`]);
      else if (decision.type === 'asks') {
        asked = decision.args;
        print([`Type y to run: ${commandText(withFlags(decision.args, commands.flags))}`]);
      } else {
        const whole = withFlags(decision.args, commands.flags);
        print([`$ ${commandText(whole)}`]);
        running = commands.start(whole, (text) => stdout.write(text));
      }
    }
  } finally {
    running?.end();
    cancel();
    unsubscribe();
  }
}
