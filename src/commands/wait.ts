import type { Writable } from 'node:stream';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { podKey } from '../api/values/pod-names.ts';
import { isWorkloadKind, workloadKey } from '../api/values/workload.ts';
import { appliedName } from '../engine/applied/applied-object.ts';
import type { EngineSnapshot } from '../engine/view/snapshot.ts';
import { UserError } from '../errors.ts';
import { fetchSnapshot, waitForAgent } from '../server/control/control-client.ts';
import { noAgent } from '../server/control/no-agent.ts';
import { controlSocketPath } from '../server/control/socket-paths.ts';
import { unlessAborted } from '../flow/unless-aborted.ts';
import { visible } from '../text/visible-text.ts';
import type { CommandDeps } from './io/deps.ts';
import { reportWait } from './io/report-wait.ts';
import { timeLimit } from './io/time-limit.ts';
import { addRuntimeOptions, seconds } from '../node/options/flags.ts';
import { workloadAt } from './objects/find-workload.ts';
import { joinKind } from './objects/kind-and-name.ts';
import { parseReference } from './objects/pod-reference.ts';
import { nameOfWorkload } from './pod/resolve-pods.ts';
import {
  type FieldCondition,
  unreachableBecause,
  isConditionMet,
  isDeclared,
  isKnown,
  parseCondition,
  refusedUpdate,
  type WaitCondition,
  waitConditions,
  waitingText,
  wantedText,
} from './wait/wait-condition.ts';
import { errorText, refusedManifest } from './objects/refused-manifest.ts';
import { brokenManifests } from './objects/refused-manifest.ts';
import { snapshotsAtEvents } from '../server/control/snapshots-at-events.ts';

const defaultTimeoutMs = 60_000;
/** For the last request to an agent, which is stuck if it takes longer. */
const lastRequestMs = 2000;

interface WaitFlags {
  rootDir: string;
  namespace?: string;
  all?: boolean;
  selector?: string;
  for: WaitCondition | FieldCondition;
  timeout?: number;
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('wait'))
    .description('Wait until pods or workloads are Ready, completed, updated or deleted')
    .usage('[options] [POD...]')
    .argument('[pods...]', 'names of pods: name, name-node or namespace/name; or of workloads: deploy/name')
    .option('--all', 'wait for all pods declared at that time')
    .option('-l, --selector <selector>', 'wait for all pods with these labels, such as app=web')
    .option('-n, --namespace <namespace>', 'namespace of the pods (default: all are searched)')
    .option('-A, --all-namespaces', 'pods of all namespaces (default)')
    .addOption(conditionOption())
    .option(
      '--timeout <duration>',
      'give up after this long; 0 checks once, a bare number is in seconds (default: 1m)',
      seconds,
    )
    .addHelpText('after', examples)
    .action(async (args: string[], flags: WaitFlags) => {
      const names = await waitForPods(await resolvePods(args, flags), flags, deps.stderr);
      for (const name of names.map(shownName)) deps.stdout.write(`${visible(name)} condition met\n`);
    });
}

const examples = `
The condition concerns the current manifests on disk, even right after an edit:
  ready      the pod of the edited manifest is Ready, or has completed as a job does
  updated    the edited manifest runs, Ready or not, and the previous one has stopped
  completed  the pod or Job has completed
  deleted    the pod is deleted
Also accepts kubectl's forms condition=TYPE[=VALUE] and jsonpath={PATH}[=VALUE]. A workload is Ready when all its pods are
updated and available.
Also waits for a pod that is not declared yet, and for an agent that does not run yet. Exits with 1 at the timeout.
Exits with 1 at once if a Job has failed, if the pod does not run because its manifest has an error and, with
--for updated, if the edited manifest has an error or was rolled back.

Examples:
  kubelet-ts wait web
  kubelet-ts wait kube-system/etcd --timeout 2m
  kubelet-ts wait --for=condition=Ready pod/web
  kubelet-ts wait --for=condition=Available deployment/web
  kubelet-ts wait job/pi --for=condition=complete
  kubelet-ts wait web --for updated
  kubelet-ts wait --all --timeout 5m
  kubelet-ts wait web --for=jsonpath='{.status.phase}'=Running`;

function conditionOption(): Option {
  const description = `condition to wait for, also ${formsOfKubectl.join(' or ')}`;
  return new Option('--for <condition>', description)
    .choices([...waitConditions, 'condition=', 'jsonpath='])
    .default('ready')
    .argParser((text) => {
      const condition = parseCondition(text);
      if (condition !== undefined) return condition;
      throw new InvalidArgumentError(
        `It must be ${[...waitConditions, formsOfKubectl[0]].join(', ')} or ${formsOfKubectl[1]}.`,
      );
    });
}

const formsOfKubectl = ['condition=TYPE[=VALUE]', 'jsonpath={PATH}[=VALUE]'] as const;

/** Returns the names of the pods to wait for, given the state of the agent if it is known. */
type ResolvedPods = (snapshot: EngineSnapshot | undefined) => readonly string[];

/** Throws a `UserError` unless either names or one of `--all` and `--selector` select the pods. */
async function resolvePods(
  args: readonly string[],
  { namespace, all, selector, for: condition }: WaitFlags,
): Promise<ResolvedPods> {
  const isOfAll = all === true || selector !== undefined;
  const isKind = args.length === 1 && isPodKind(args[0]);
  if (isOfAll ? args.length > 0 && !isKind : args.length === 0) {
    throw new UserError(isOfAll ? 'name pods, or use --all or -l, not both' : 'name pods, or use --all or -l');
  }
  if (!isOfAll) {
    const named = joinKind(args.length > 1 && isPodKind(args[0]) ? args.slice(1) : args);
    // Throws for invalid names.
    for (const word of named) podName(word, namespace);
    const podsOf = new Map<string, string[]>();
    return (snapshot) =>
      named.flatMap((word) => {
        const workload = snapshot && workloadAt(snapshot, word, namespace);
        if (workload === undefined) return podsOf.get(word) ?? podName(word, namespace, snapshot);
        if (condition !== 'deleted') return workloadKey(workload);
        const pods = workload.pods.map((name) => podKey({ namespace: workload.namespace, name }));
        podsOf.set(word, pods);
        return pods;
      });
  }
  const { parseLabelSelector } = await import('../api/values/label-selector.ts');
  const isSelected = selector === undefined ? () => true : parseLabelSelector(selector);
  return (snapshot) => {
    const chosen = (snapshot?.pods ?? [])
      .map(({ pod: { metadata } }) => metadata)
      .filter((one) => (namespace === undefined || one.namespace === namespace) && isSelected(one.labels ?? {}));
    return [...new Set(chosen.map(podKey))];
  };
}

/** A pod or workload as kubectl prints it, such as `deployment.apps/web`. */
function shownName(name: string): string {
  const [kind = '', , workload] = name.split('/');
  return workload !== undefined && isWorkloadKind(kind) ? appliedName({ kind, name: workload }) : `pod/${name}`;
}

const isPodKind = (word = ''): boolean => ['pod', 'pods', 'po'].includes(word);

/**
 * A name in the form `name` or `namespace/name`, from an arg such as `pod/web`. The name of a workload, such as
 * `deployment/web`, is the name of its pod, unless a namespace has the name of that kind.
 */
function podName(word: string, namespace: string | undefined, snapshot?: EngineSnapshot): string {
  const ofWorkload = nameOfWorkload(word);
  const isNamespace = snapshot?.pods.some(({ pod }) => word.startsWith(`${pod.metadata.namespace}/`)) ?? false;
  const pod = isNamespace ? word : (ofWorkload ?? word);
  const { namespace: named, name } = parseReference({ pod, namespace });
  return named === undefined ? name : podKey({ namespace: named, name });
}

/**
 * Checks the current manifests on disk at once, and again at every event of the agent. Resolves with the names of the
 * pods. Without a pod, only `deleted` is met. Rejects on a timeout or if the agent exits.
 */
async function waitForPods(resolve: ResolvedPods, flags: WaitFlags, stderr: Writable): Promise<readonly string[]> {
  let waitsFor = `waiting for kubelet-ts to run on ${flags.rootDir}`;
  const stopReports = reportWait(stderr, () => waitsFor);
  const onWaiting = (text: string): void => {
    waitsFor = text;
  };
  try {
    return await waitUntilMet(resolve, flags, onWaiting);
  } finally {
    stopReports();
  }
}

async function waitUntilMet(
  resolve: ResolvedPods,
  flags: WaitFlags,
  onWaiting: (text: string) => void,
): Promise<readonly string[]> {
  const socket = controlSocketPath(flags.rootDir);
  const timeout = timeLimit(flags.timeout ?? defaultTimeoutMs);
  await waitForAgent(socket, timeout).catch((error: unknown) => {
    if (error instanceof UserError) throw error;
    throw noAgent(flags.rootDir, { cause: error });
  });
  const everNamed = new Set<string>();
  let last: EngineSnapshot | undefined;
  for await (const snapshot of snapshotsUntil(timeout, socket)) {
    for (const name of resolve(snapshot)) everNamed.add(name);
    const names = flags.for === 'deleted' ? [...everNamed] : resolve(snapshot);
    const isAny = names.length > 0 || flags.for === 'deleted';
    if (isAny && names.every((name) => isConditionMet(name, flags.for, snapshot))) return names;
    for (const name of names) {
      const because = unreachableBecause(name, flags.for, snapshot);
      if (because !== undefined) throw neverMet(name, because);
      await failIfRefused(name, flags.for, snapshot);
    }
    last = snapshot;
    const waiting = waitingPods(names, flags.for, snapshot);
    onWaiting(waiting === '' ? 'waiting for a pod to be declared' : `waiting for ${waiting}`);
  }
  throw notMet(resolve(last), flags, { snapshot: last, ...(!timeout.aborted && { why: 'kubelet-ts exited' }) });
}

/** The snapshots of the agent at its events. Yields one even if the time is over before the first event. */
async function* snapshotsUntil(timeout: AbortSignal, socket: string): AsyncGenerator<EngineSnapshot, void> {
  let isFirst = true;
  for await (const snapshot of snapshotsAtEvents(socket, timeout)) {
    yield snapshot;
    isFirst = false;
  }
  if (!isFirst || !timeout.aborted) return;
  // Waits a little for an answer, although the time is over.
  const only = await unlessAborted(fetchSnapshot(socket, { settled: true }), timeLimit(lastRequestMs)).catch(
    () => undefined,
  );
  if (only !== undefined) yield only;
}

function neverMet(name: string, because: string): UserError {
  if (name.startsWith('CronJob/')) {
    const hint = `Run it, and wait for the result: kubelet-ts run-once cronjob/${name.split('/')[2] ?? ''}`;
    return new UserError(`${shownName(name)} ${because}`, { hint });
  }
  if (name.startsWith('Job/')) {
    const shown = shownName(name);
    return new UserError(`${shown} ${because}`, { hint: `Find out why: kubelet-ts explain ${shown}` });
  }
  return new UserError(`pod ${name} does not run its manifest: ${because}`, {
    hint: `Correct the manifest, or try it again: kubelet-ts unhold ${name}`,
  });
}

/**
 * Rejects with a `UserError` if the manifest of a pod has an error and the condition needs that manifest. The agent
 * reports an error only once the file stops changing, so the wait would otherwise last until someone fixes the file.
 */
async function failIfRefused(
  name: string,
  condition: WaitCondition | FieldCondition,
  snapshot: EngineSnapshot,
): Promise<void> {
  if (condition === 'deleted') return;
  const refused = isKnown(name, snapshot)
    ? condition === 'updated' && refusedUpdate(name, snapshot)
    : (await refusedManifest(snapshot, { pod: name, namespace: undefined }))[0];
  if (refused === undefined || refused === false) return;
  throw new UserError(`pod ${name} does not run its manifest, which has an error: ${errorText(refused)}`, {
    hint: `Correct the manifest, then wait again. Show the error: kubelet-ts explain ${name}`,
  });
}

function notMet(
  names: readonly string[],
  { for: condition }: WaitFlags,
  { why = 'timed out', snapshot }: { why?: string; snapshot: EngineSnapshot | undefined },
): UserError {
  if (names.length === 0) throw new UserError(`${why} before a pod was declared`);
  const waiting = snapshot === undefined ? names.join(', ') : waitingPods(names, condition, snapshot);
  return new UserError(`${why} before these pods ${wantedText(condition)}: ${waiting}`, {
    hint: brokenManifestsOf(names, snapshot) ?? 'kubelet-ts ps shows their state.',
  });
}

/** Such as `web (ErrImagePull), db (not declared)`. */
function waitingPods(
  names: readonly string[],
  condition: WaitCondition | FieldCondition,
  snapshot: EngineSnapshot,
): string {
  const waiting = names.filter((name) => !isConditionMet(name, condition, snapshot));
  return waiting.map((name) => `${name} (${waitingText(name, snapshot)})`).join(', ');
}

/** The hint about files with errors if one of these pods is not declared, because one of the files may declare it. */
function brokenManifestsOf(names: readonly string[], snapshot: EngineSnapshot | undefined): string | undefined {
  if (snapshot === undefined || names.every((name) => isDeclared(name, snapshot))) return undefined;
  return brokenManifests(snapshot.sources.flatMap(({ problems }) => problems));
}
