import { type Command, Option } from 'commander';
import { resolve } from 'node:path';
import type { Pod } from '../api/types.ts';
import type { EngineSnapshot } from '../engine/snapshot.ts';
import { UserError } from '../errors.ts';
import { controlSocketPath, fetchSnapshot, followEvents, waitForAgent } from '../server/control-client.ts';
import type { CommandDeps } from './deps.ts';
import { addRuntimeOptions } from './flags.ts';
import { duration } from './flag-values.ts';

const defaultTimeoutMs = 60_000;

type Condition = 'ready' | 'completed' | 'deleted';

interface WaitFlags {
  rootDir: string;
  for: Condition;
  timeout?: number;
}

export function registerWait(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('wait'))
    .description('Wait until pods are Ready, have completed or are gone')
    .argument('<pods...>', 'names of pods: name, name-node or namespace/name')
    .addOption(
      new Option('--for <condition>', 'what to wait for').choices(['ready', 'completed', 'deleted']).default('ready'),
    )
    .option('--timeout <duration>', 'give up after this long (default: 1m)', duration)
    .addHelpText('after', examples)
    .action(async (names: string[], flags: WaitFlags) => {
      await waitForPods(names, flags);
      for (const name of names) deps.stdout.write(`pod/${name} condition met\n`);
    });
}

const examples = `
A pod that is not declared yet, and an agent that is not up yet, are waited for. Exits 1 when the time is over.

Examples:
  kubelet-ts wait web
  kubelet-ts wait kube-system/etcd --timeout 2m
  kubelet-ts wait job --for completed`;

/** Looks again at every event of the agent; rejects when the time is over or the agent ends. */
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
  const met = new AbortController();
  const events = followEvents(socket, AbortSignal.any([timeout, met.signal]));
  // The stream is open before the first look, so that nothing happens unseen in between.
  const first = events.next();
  for (let next = first; ; next = events.next()) {
    const snapshot = await fetchSnapshot(socket, { waits: true });
    if (snapshot === undefined) throw notMet(names, flags, false);
    const waiting = names.filter((name) => !isMet(name, flags.for, snapshot));
    if (waiting.length === 0) break;
    const { done } = await next;
    if (done === true) throw notMet(waiting, flags, timeout.aborted);
  }
  met.abort();
}

function isMet(name: string, condition: Condition, snapshot: EngineSnapshot): boolean {
  const pod = snapshot.pods.find((known) => matches(name, known.pod, snapshot.nodeName))?.pod;
  switch (condition) {
    case 'ready':
      return pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
    case 'completed':
      return pod?.status?.phase === 'Succeeded';
    case 'deleted':
      return pod === undefined;
  }
}

function matches(name: string, { metadata }: Pod, nodeName: string): boolean {
  const names = [metadata.name, metadata.name.slice(0, -nodeName.length - 1)];
  return names.some((own) => own === name || `${metadata.namespace}/${own}` === name);
}

function notMet(waiting: readonly string[], { for: condition }: WaitFlags, timedOut: boolean): UserError {
  const why = timedOut ? 'the time is over' : 'kubelet-ts ended';
  return new UserError(`${why}, and not ${condition}: ${waiting.join(', ')}`, {
    hint: 'kubelet-ts ps shows what they are doing.',
  });
}
