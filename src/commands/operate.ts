import type { Writable } from 'node:stream';
import { type Command, Option } from 'commander';
import { podKey, type PodName, type PodRef } from '../api/values/pod-names.ts';
import type { Pod } from '../api/types.ts';
import { isPodPhaseTerminal } from '../api/values/pod-phase.ts';
import { alwaysRestarts } from '../api/values/restart-rules.ts';
import type { OperationAction } from '../engine/operations/operation.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions, seconds } from '../node/options/flags.ts';
import { type AgentSocket, operate } from '../server/control/control-client.ts';
import { controlSocketPath } from '../server/control/socket-paths.ts';
import { visible } from '../text/visible-text.ts';
import type { CommandDeps } from './io/deps.ts';
import { readBareFlags } from './io/bare-flags.ts';
import { patientSocket } from './io/patient-socket.ts';
import { type PodSelection, podsOfAgent } from './pod/pods-of-agent.ts';
import { waitForExit } from './pod/wait-for-exit.ts';
import { restartWorkloads, workloadsToRestart } from './workload/restart-workloads.ts';
import { waitForRestart } from './pod/wait-for-restart.ts';

interface OperateFlags extends PodSelection {
  rootDir: string;
  container?: string;
  to?: number;
  wait: 'true' | 'false';
  timeout?: number;
}

interface Verb {
  description: string;
  help: string;
}

const verbs: Record<OperationAction, Verb> = {
  restart: {
    description: 'Restart the containers of pods gracefully',
    help: `
The pod keeps its UID, its address and its volumes. Restart counts increase by one. Init containers do not run again.
The command returns once new containers have started. A workload's pods are replaced one by one, as by rollout restart.
Jobs and CronJobs cannot be restarted. Finished pods run again only if you name them.

Examples:
  kubelet-ts restart web
  kubelet-ts restart web -c app
  kubelet-ts restart deploy/web
  kubelet-ts restart web --wait=false   returns at once, for scripts`,
  },
  stop: {
    description: 'Stop pods until you start them again',
    help: `
A stopped pod stays down across restarts of kubelet-ts, of the runtime and of the machine. Its volumes stay.
Changes of its manifest are accepted, and apply once it is started.
The command returns once the pods have stopped.

Examples:
  kubelet-ts stop web db
  kubelet-ts stop deploy/web            all pods of the Deployment
  kubelet-ts stop job/pi                its pods that have not finished
  kubelet-ts stop web --timeout 10s`,
  },
  start: { description: 'Start stopped pods', help: '\nExample:\n  kubelet-ts start web' },
  retry: {
    description: 'Retry failing pods now, without waiting for their back-off',
    help: `
Resets the back-off of containers, image pulls and volumes. Runs finished pods again; those that succeeded only if you
name them.

Examples:
  kubelet-ts retry web
  kubelet-ts retry job/pi               its failed pods`,
  },
  hold: {
    description: 'Pin pods to their current revision',
    help: '\nUpdates of their manifests wait; kubelet-ts ps shows them.\n\nExample:\n  kubelet-ts hold web',
  },
  unhold: {
    description: 'Unpin pods, so that they follow their manifests again',
    help: '\nUndoes hold and rollback.\n\nExample:\n  kubelet-ts unhold web',
  },
  rollback: {
    description: 'Run an earlier revision of a pod',
    help: `
Without --to, runs the last earlier revision that was Ready. It runs until the manifest changes or until kubelet-ts unhold.

Examples:
  kubelet-ts rollback web
  kubelet-ts rollback web --to 3`,
  },
};

/** Registers the command of one action on declared pods. */
export function registerOperation(action: OperationAction): (program: Command, deps: CommandDeps) => void {
  return (program, deps) => {
    const { description, help } = verbs[action];
    const command = addRuntimeOptions(program.command(action))
      .description(description)
      .usage('[options] [POD...]')
      .argument('[pods...]', 'names of pods: name, name-node, namespace/name, or a workload such as deploy/web')
      .option('-n, --namespace <namespace>', 'namespace of the pods (default: all are searched)')
      .option('--all', 'all currently declared pods')
      .option('-l, --selector <selector>', 'all pods with these labels, such as app=web')
      .addHelpText('after', help)
      .action(async (names: string[], flags: OperateFlags) => {
        await operateAll(action, names, flags, deps);
      });
    if (waitingActions.includes(action)) addWaitOptions(command, action);
    if (action === 'restart') command.option('-c, --container <name>', 'restart only this container');
    if (action === 'rollback')
      command.option('--to <revision>', 'number of the revision', (text) => parseRevision(text, '--to', 'history POD'));
  };
}

const isUnfinished = ({ spec, status }: Pod): boolean => alwaysRestarts(spec) || !isPodPhaseTerminal(status?.phase);

/** The pods of a workload, or of all, that an action concerns. It runs nothing again that is done. */
const concerned: Partial<Record<OperationAction, (pod: Pod) => boolean>> = {
  stop: isUnfinished,
  restart: isUnfinished,
  retry: ({ status }) => status?.phase !== 'Succeeded',
};

/** Actions whose command waits until they are done. */
const waitingActions: readonly OperationAction[] = ['stop', 'restart'];

/** Options of commands that stop or restart pods. */
export function addWaitOptions(command: Command, action: OperationAction = 'stop'): Command {
  return readBareFlags(command)
    .addOption(
      new Option('--wait [boolean]', `wait until the pods have ${action === 'restart' ? 'restarted' : 'stopped'}`)
        .choices(['true', 'false'])
        .preset('true')
        .default('true'),
    )
    .option(
      '--timeout <duration>',
      'wait at most this long; 0 means no limit, a bare number is in seconds (default: 0)',
      seconds,
    );
}

/** Parses the number of a revision. The error names the flag and the command that lists revisions. */
export function parseRevision(text: string, flag: string, history: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UserError(`${flag} must be the number of a revision, not "${text}"`, {
    hint: `List them: kubelet-ts ${history}`,
  });
}

/** Finds all pods before the first action, so that a wrong name changes nothing. */
async function operateAll(
  action: OperationAction,
  names: readonly string[],
  flags: OperateFlags,
  deps: CommandDeps,
): Promise<void> {
  const { rootDir, container, to, wait } = flags;
  const socket = patientSocket(controlSocketPath(rootDir), deps.stderr);
  const options = { ...(container !== undefined && { container }), ...(to !== undefined && { to }) };
  const isWaiting = waitingActions.includes(action) && wait !== 'false';
  const { workloads, others } =
    action === 'restart' ? await workloadsToRestart(names, flags, socket) : { workloads: [], others: [...names] };
  const selection = { ...flags, isConcerned: concerned[action] ?? (() => true) };
  const pods =
    workloads.length > 0 && others.length === 0 ? [] : await podsOfAgent(rootDir, others, selection, deps.stderr);
  await restartWorkloads(workloads, socket, deps, { isWaiting, timeoutMs: flags.timeout });
  const print = (text: string): void => void deps.stdout.write(`${visible(text)}\n`);
  const asked: (PodRef & { message: string })[] = [];
  for (const pod of pods) {
    const message = await operate(socket, pod, action, options);
    if (message === undefined) throw exitedBefore(podKey(pod));
    asked.push({ ...pod, message });
    if (!isWaiting) print(message);
  }
  if (!isWaiting || pods.length === 0) return;
  if (action === 'restart') {
    await waitForRestart(asked, socket, {
      timeoutMs: flags.timeout,
      stderr: deps.stderr,
      onRestarted: ({ name, message }, didRestart) => {
        print(didRestart ? `pod/${name} restarted` : message);
      },
    });
  } else await waitUntilStopped(pods, socket, { timeoutMs: flags.timeout, stderr: deps.stderr, print });
}

async function waitUntilStopped(
  pods: readonly PodName[],
  socket: AgentSocket,
  { print, ...options }: { timeoutMs: number | undefined; stderr: Writable; print: (text: string) => void },
): Promise<void> {
  const stopping = pods.map(({ namespace, name }) => ({
    name,
    isPod: ({ metadata }: Pod) => metadata.namespace === namespace && metadata.name === name,
  }));
  await waitForExit(stopping, socket, {
    ...options,
    hint:
      pods.length === 1
        ? 'It keeps stopping, and stays stopped. Check it: kubelet-ts ps'
        : 'They keep stopping, and stay stopped. Check them: kubelet-ts ps',
    onEnded: ({ name }) => {
      print(`pod/${name} stopped`);
    },
  });
}

const exitedBefore = (pod: string): UserError =>
  new UserError(`kubelet-ts exited before it reported on ${pod}`, {
    hint: `Start it again, then check the pod: kubelet-ts describe ${pod}`,
  });
