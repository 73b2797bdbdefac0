import { type Command, Option } from 'commander';
import type { Pod } from '../api/types.ts';
import { type AppliedObject, appliedObject, resolveKind, resourceName } from '../engine/applied/applied-object.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions, collect } from '../node/options/flags.ts';
import { type AgentSocket, fetchSnapshot } from '../server/control/control-client.ts';
import { controlSocketPath } from '../server/control/socket-paths.ts';
import { visible } from '../text/visible-text.ts';
import { appliedObjects, appliedTarget } from './applied/applied-target.ts';
import { objectsOfFiles } from './applied/objects-of-files.ts';
import { dryRunOption, isDryRun } from './apply.ts';
import type { CommandDeps } from './io/deps.ts';
import { addWaitOptions } from './operate.ts';
import { patientSocket } from './io/patient-socket.ts';
import { isStopping, waitForExit } from './pod/wait-for-exit.ts';

interface DeleteFlags {
  rootDir: string;
  filename?: string[];
  kustomize?: string[];
  all?: boolean;
  force?: boolean;
  gracePeriod?: string;
  now?: boolean;
  namespace?: string;
  dryRun: string;
  wait: 'true' | 'false';
  timeout?: number;
  hostnameOverride?: string;
}

export function register(program: Command, deps: CommandDeps): void {
  const command = addRuntimeOptions(program.command('delete'))
    .description('Delete applied objects and stop their pods')
    .argument('[objects...]', 'pods, as NAME or NAMESPACE/NAME, and other objects, as KIND/NAME or KIND/NAMESPACE/NAME')
    .option('-f, --filename <path>', 'file or folder with the objects to delete, - for stdin; repeatable', collect)
    .option(
      '-k, --kustomize <folder>',
      'build this folder with kustomize, and delete its objects (repeatable)',
      collect,
    )
    .option('--all', 'delete all applied pods and workloads, or all objects of the named kind')
    .option('--force', 'do not wait for the pods to stop')
    .addOption(new Option('--grace-period <seconds>').hideHelp())
    .addOption(new Option('--now').hideHelp())
    .option('-n, --namespace <namespace>', 'namespace of the objects (default: default)')
    .addOption(dryRunOption())
    .option('--hostname-override <name>', 'node name to use if no agent runs (default: the host name)')
    .addHelpText('after', help)
    .action(async (names: string[], flags: DeleteFlags) => {
      await remove(names, flags, deps);
    });
  addWaitOptions(command);
}

/** Deletes each object separately, so that a failure does not keep the others. */
async function remove(names: readonly string[], flags: DeleteFlags, deps: CommandDeps): Promise<void> {
  const { filename: paths = [], kustomize: kustomizations = [], namespace, all = false } = flags;
  const dryRun = isDryRun(flags.dryRun);
  const named = all ? await allApplied(names, flags) : objectsNamed(names, namespace);
  warnOfForce(flags, deps);
  if (!all && named.length + paths.length + kustomizations.length === 0)
    throw new UserError('nothing to delete was named', { hint: 'Name a pod, an object as KIND/NAME, or -f FILE.' });
  const target = await appliedTarget({ ...flags, dryRun }, deps.stderr);
  const { nodeName } = target;
  const socket = patientSocket(controlSocketPath(flags.rootDir), deps.stderr);
  const consequence = 'nothing was deleted';
  const hasFiles = paths.length + kustomizations.length > 0;
  const inFiles = hasFiles
    ? await objectsOfFiles({ paths, kustomizations, nodeName, namespace, consequence, isDeletion: true }, deps)
    : [];
  if (all && named.length === 0) deps.stdout.write('No resources found\n');
  const before =
    target.hasAgent && !dryRun && flags.wait === 'true' && flags.force !== true
      ? await appliedPods(socket)
      : new Map<string, string>();
  for (const object of [...named, ...inFiles]) {
    try {
      const { kind, name } = await target.delete(object);
      deps.stdout.write(`${resourceName(kind)} "${visible(name)}" deleted${dryRun ? ' (dry run)' : ''}\n`);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      deps.stderr.write(`error: ${visible(error.message)}\n`);
      if (error.hint !== undefined) deps.stderr.write(`hint: ${visible(error.hint)}\n`);
      deps.setExitCode(1);
    }
  }
  const hint = 'They are deleted and keep stopping. Check them: kubelet-ts ps';
  const stopping = [...before].map(([uid, name]) => ({ name, isPod: ({ metadata }: Pod) => metadata.uid === uid }));
  if (stopping.length > 0) await waitForExit(stopping, socket, { timeoutMs: flags.timeout, hint, stderr: deps.stderr });
}

/** The applied pods and workloads, or those of the kind that is named. */
async function allApplied(
  names: readonly string[],
  { rootDir, namespace }: Pick<DeleteFlags, 'rootDir' | 'namespace'>,
): Promise<AppliedObject[]> {
  const kind = resolveKind(names[0] ?? '');
  if (names.length > (kind === undefined ? 0 : 1)) throw new UserError('name objects or use --all, not both');
  const isNamed = (object: AppliedObject): boolean =>
    kind === undefined || kind === 'Pod' ? object.kind in podKinds : object.kind === kind;
  const kept = await appliedObjects(rootDir);
  return kept.filter((object) => isNamed(object) && (namespace === undefined || object.namespace === namespace));
}

/** Kinds that run as pods. */
const podKinds: Readonly<Partial<Record<AppliedObject['kind'], true>>> = {
  Pod: true,
  CronJob: true,
  DaemonSet: true,
  Deployment: true,
  Job: true,
  ReplicaSet: true,
  ReplicationController: true,
  StatefulSet: true,
};

/** Pods keep their own grace period, because they may write data while they stop. */
function warnOfForce({ force, gracePeriod, now }: DeleteFlags, { stderr }: CommandDeps): void {
  if (force !== true && gracePeriod === undefined && now !== true) return;
  const what = 'each pod keeps its terminationGracePeriodSeconds, so that it can write its data';
  stderr.write(`warning: ${what}${force === true ? '; --force only skips the wait' : ''}\n`);
}

/** Names of the running pods of applied manifests, by UID. */
async function appliedPods(socket: AgentSocket): Promise<Map<string, string>> {
  const { pods = [] } = (await fetchSnapshot(socket)) ?? {};
  const running = pods.filter((pod) => pod.source === 'applied' && !isStopping(pod));
  return new Map(running.map(({ pod: { metadata } }) => [metadata.uid, metadata.name]));
}

/** The objects that these args name: `web`, `pod/web`, `pod web db`, `deployment/web`, `namespace/web`. */
export function objectsNamed(args: readonly string[], namespace = 'default'): AppliedObject[] {
  const [first = '', ...others] = args;
  const kind = resolveKind(first);
  if (kind !== undefined && others.length > 0) return others.map((word) => objectNamed(`${kind}/${word}`, namespace));
  return args.map((word) => objectNamed(word, namespace));
}

function objectNamed(word: string, namespace: string): AppliedObject {
  const parts = word.split('/');
  const kind = parts.length > 1 ? resolveKind(parts[0] ?? '') : undefined;
  if (kind !== undefined) parts.shift();
  const [name = '', of = namespace] = parts.toReversed();
  if (parts.length <= 2 && name !== '' && of !== '') return appliedObject(kind ?? 'Pod', of, name);
  throw new UserError(`"${word}" names no object`, {
    hint: 'Name it as NAME, NAMESPACE/NAME, KIND/NAME or KIND/NAMESPACE/NAME.',
  });
}

const help = `
Deletes only objects of kubelet-ts apply. To delete a pod that a file or URL declares, remove it there.

Examples:
  kubelet-ts delete web
  kubelet-ts delete deployment/web configmap/settings
  kubelet-ts delete -f web.yaml`;
