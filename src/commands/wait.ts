import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { EngineSnapshot } from '../engine/view/snapshot.ts';
import { UserError } from '../errors.ts';
import { waitForAgent } from '../server/control/control-client.ts';
import { controlSocketPath } from '../server/control/socket-paths.ts';
import { visible } from '../visible-text.ts';
import type { CommandDeps } from './io/deps.ts';
import { addRuntimeOptions, seconds } from '../node/options/flags.ts';
import { parseReference } from './pod/pods-meant.ts';
import {
  conditionNamed,
  givenUpBecause,
  isConditionMet,
  type WaitCondition,
  waitConditions,
  waitingText,
} from './wait/wait-condition.ts';
import { snapshotsAtEvents } from '../server/control/snapshots-at-events.ts';

const defaultTimeoutMs = 60_000;

interface WaitFlags {
  rootDir: string;
  namespace?: string;
  for: WaitCondition;
  timeout?: number;
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('wait'))
    .description('Wait until pods are Ready, completed, updated or deleted')
    .argument('<pods...>', 'names of pods: name, name-node or namespace/name')
    .option('-n, --namespace <namespace>', 'namespace of the pods (default: all are searched)')
    .addOption(conditionOption())
    .option('--timeout <duration>', 'give up after this long; a bare number is in seconds (default: 1m)', seconds)
    .addHelpText('after', examples)
    .action(async (words: string[], flags: WaitFlags) => {
      const names = podNames(words, flags.namespace);
      await waitForPods(names, flags);
      for (const name of names) deps.stdout.write(`pod/${visible(name)} condition met\n`);
    });
}

const examples = `
The condition concerns the manifests now on disk, also right after an edit:
  ready      the pod of the edited manifest is Ready
  updated    the edited manifest runs, Ready or not, and the previous one has ended
  completed  the pod has completed
  deleted    the pod is gone
wait also waits for a pod that is not declared yet, and for an agent that does not run yet. Exits with 1 at the timeout,
and with --for updated as soon as the pod was rolled back.

Examples:
  kubelet-ts wait web
  kubelet-ts wait kube-system/etcd --timeout 2m
  kubelet-ts wait --for=condition=Ready pod/web
  kubelet-ts wait job --for completed
  kubelet-ts wait web --for updated`;

/** Accepts kubectl's form of the conditions too: `condition=Ready`, `delete`. */
function conditionOption(): Option {
  const option = new Option('--for <condition>', 'condition to wait for').choices(waitConditions).default('ready');
  const { parseArg } = option;
  return option.argParser((text) => parseArg?.(conditionNamed(text), 'ready') ?? text);
}

/** Names in the form `name` or `namespace/name`, from words such as `pod/web` or `pod web`. */
function podNames(words: readonly string[], namespace: string | undefined): string[] {
  const named = words.length > 1 && ['pod', 'pods', 'po'].includes(words[0] ?? '') ? words.slice(1) : words;
  return named.map((word) => {
    const reference = parseReference({ pod: word, namespace });
    return reference.namespace === undefined ? reference.name : `${reference.namespace}/${reference.name}`;
  });
}

/**
 * Checks the manifests now on disk at once, and again at every event of the agent. Rejects on a timeout or if the agent
 * ends.
 */
async function waitForPods(names: readonly string[], flags: WaitFlags): Promise<void> {
  const socket = controlSocketPath(resolve(flags.rootDir));
  const timeout = AbortSignal.timeout(flags.timeout ?? defaultTimeoutMs);
  await waitForAgent(socket, timeout).catch((error: unknown) => {
    if (error instanceof UserError) throw error;
    throw new UserError('no kubelet-ts runs on this root-dir', {
      hint: 'Start it with `kubelet-ts run`.',
      cause: error,
    });
  });
  let last: EngineSnapshot | undefined;
  for await (const snapshot of snapshotsAtEvents(socket, timeout)) {
    if (names.every((name) => isConditionMet(name, flags.for, snapshot))) return;
    for (const name of names) {
      const because = givenUpBecause(name, flags.for, snapshot);
      if (because !== undefined) throw rolledBack(name, because);
    }
    last = snapshot;
  }
  throw notMet(names, flags, { snapshot: last, ...(!timeout.aborted && { why: 'kubelet-ts ended' }) });
}

function rolledBack(name: string, because: string): UserError {
  return new UserError(`pod ${name} does not run its manifest: ${because}`, {
    hint: `Correct the manifest, or try it again: kubelet-ts unhold ${name}`,
  });
}

function notMet(
  names: readonly string[],
  { for: condition }: WaitFlags,
  { why = 'timed out', snapshot }: { why?: string; snapshot: EngineSnapshot | undefined },
): UserError {
  const waiting = names.filter((name) => snapshot === undefined || !isConditionMet(name, condition, snapshot));
  const texts = waiting.map((name) => (snapshot === undefined ? name : `${name} (${waitingText(name, snapshot)})`));
  return new UserError(`${why} before these pods were ${condition}: ${texts.join(', ')}`, {
    hint: 'kubelet-ts ps shows their state.',
  });
}
