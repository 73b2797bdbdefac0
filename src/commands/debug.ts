import { randomInt } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { podKey } from '../api/values/pod-names.ts';
import type { EphemeralContainer, EnvVar, Pod } from '../api/types.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import {
  addEphemeralContainer,
  fetchSnapshot,
  type PatientSocket,
  removeEphemeralContainer,
} from '../server/control/control-client.ts';
import { controlSocketPath } from '../server/control/socket-paths.ts';
import { visible } from '../text/visible-text.ts';
import { defaultDetachKeys } from './io/detach-keys.ts';
import type { CommandDeps } from './io/deps.ts';
import { refuseFlagsOfCommands } from './io/flags-of-commands.ts';
import { type DebugProfile, debugProfiles } from './pod/debug-profiles.ts';
import { patientSocket } from './io/patient-socket.ts';
import { podsOfAgent } from './pod/pods-of-agent.ts';
import type { PodFlags } from './pod/open-pod.ts';
import { waitForEphemeralStart } from './pod/wait-for-ephemeral-start.ts';

interface DebugFlags extends PodFlags {
  image?: string;
  target?: string;
  container?: string;
  stdin?: boolean;
  tty?: boolean;
  env?: EnvVar[];
  imagePullPolicy?: string;
  profile: DebugProfile;
  rm?: boolean;
  remove?: string;
  detachKeys: string;
}

export function register(program: Command, deps: CommandDeps): void {
  refuseFlagsOfCommands(addRuntimeOptions(program.command('debug')))
    .description('Add a debug container with its own image to a running pod')
    .usage('[options] POD [--] [COMMAND [ARG...]]')
    .argument('<pod>', 'name, name without the node, or namespace/name')
    .argument('[command...]', 'command to run instead of that of the image, after --')
    .option('--image <image>', 'image (default: that of the target or of the first container of the pod)')
    .option('--target <container>', 'share the processes of this container')
    .option('-c, --container <name>', 'name of the debug container (default: a generated one)')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: all are searched)')
    .option('-i, --stdin', 'attach to it and pass stdin')
    .option('-t, --tty', 'with -i, run it with a terminal')
    .option('--env <name=value>', 'set an environment variable; repeatable', addVariable)
    .addOption(
      new Option('--image-pull-policy <policy>', 'when to pull the image').choices(['Always', 'IfNotPresent', 'Never']),
    )
    .addOption(
      new Option('--profile <profile>', 'privileges, as for kubectl debug')
        .choices(Object.keys(debugProfiles))
        .default('legacy'),
    )
    .option('--rm', 'remove it when the session closes, or ten seconds after it exits')
    .option('--remove <name>', 'stop and remove this debug container')
    .option('--detach-keys <keys>', 'keys that detach and leave the container running', defaultDetachKeys)
    .showHelpAfterError('(put -- before a command with flags: kubelet-ts debug POD -- COMMAND; see --help)')
    .addHelpText('after', examples)
    .action(async (podName: string, command: string[], flags: DebugFlags) => {
      deps.setExitCode(await debug(deps, podName, command, flags));
    });
}

const examples = `
Without -i, prints the name of the container, for logs, exec and attach -c. The container never restarts, has no probes
and no resources, and stops with its pod. It keeps running while kubelet-ts restarts.

Examples:
  kubelet-ts debug -it web --image busybox --target app --rm  opens a shell that sees the processes of app
  kubelet-ts debug web --image busybox -c trace -- sleep 1h   starts a container trace
  kubelet-ts debug -it web --image busybox --profile netadmin opens a shell that may change the network of the pod
  kubelet-ts debug web --remove trace                         removes it

Exit codes: 0 if the container started or its session closed, 1 otherwise.`;

function addVariable(text: string, earlier: EnvVar[] = []): EnvVar[] {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must have the form NAME=VALUE.');
  return [...earlier, { name: text.slice(0, at), value: text.slice(at + 1) }];
}

async function debug(deps: CommandDeps, podName: string, command: string[], flags: DebugFlags): Promise<number> {
  if (flags.tty === true && flags.stdin !== true) {
    throw new UserError('-t needs -i', { hint: 'kubelet-ts debug -it POD opens a terminal.' });
  }
  const socket = patientSocket(controlSocketPath(flags.rootDir), deps.stderr);
  const [pod] = await podsOfAgent(flags.rootDir, [podName], flags, deps.stderr);
  if (pod === undefined) throw new UserError(`no pod "${podName}"`);
  if (flags.remove !== undefined) {
    const message = answered(await removeEphemeralContainer(socket, pod, flags.remove));
    deps.stdout.write(`${visible(message)}\n`);
    return 0;
  }
  const declared = (await fetchSnapshot(socket))?.pods.findLast(
    ({ pod: { metadata } }) => metadata.name === pod.name && metadata.namespace === pod.namespace,
  );
  // If stdin is not a terminal, the container gets none either, and sees the end of stdin.
  const tty = flags.tty === true && deps.stdin.isTTY === true;
  const container = ephemeralContainer(answered(declared).pod, command, { ...flags, tty });
  const name = answered(await addEphemeralContainer(socket, pod, container, flags.rm === true));
  if (flags.stdin !== true) {
    deps.stdout.write(`${visible(name)}\n`);
    return 0;
  }
  if (flags.container === undefined) deps.stderr.write(`Defaulting debug container name to ${name}.\n`);
  const session = { isDetached: false };
  try {
    return await attach(deps, { socket, pod, name, flags, session });
  } finally {
    // The agent may have removed it already. If the agent exited, its next start removes the container.
    if (flags.rm === true && !session.isDetached) {
      await removeEphemeralContainer(socket, pod, name).catch(() => undefined);
    }
  }
}

interface Session {
  socket: PatientSocket;
  pod: { namespace: string; name: string };
  name: string;
  flags: DebugFlags;
  /** True if the user detached and left the container running. */
  session: { isDetached: boolean };
}

async function attach(deps: CommandDeps, { socket, pod, name, flags, session }: Session): Promise<number> {
  const [{ withPod }, { namedContainer }, { attachWithLog }, { parseDetachKeys }] = await Promise.all([
    import('./pod/open-pod.ts'),
    import('./pod/select-pod.ts'),
    import('./pod/attach-with-log.ts'),
    import('./io/detach-keys.ts'),
  ]);
  const detachKeys = parseDetachKeys(flags.detachKeys);
  await waitForEphemeralStart(socket, pod, name, deps.stderr);
  return withPod(deps, podKey(pod), flags, async (opened) => {
    const [newest] = namedContainer(opened.pod, name).attempts;
    if (newest === undefined) throw new UserError(`container ${name} was removed`);
    return attachWithLog(deps, opened, {
      container: { id: newest.id, name },
      stdin: true,
      tty: flags.tty === true,
      detachKeys,
      keysText: flags.detachKeys,
      onDetached: () => {
        session.isDetached = true;
      },
    });
  });
}

/** kubectl: debug.go generateDebugContainer */
function ephemeralContainer({ spec }: Pod, command: readonly string[], flags: DebugFlags): EphemeralContainer {
  const { target, container: name = `debugger-${suffix()}`, stdin = false, tty = false, env, imagePullPolicy } = flags;
  const all = [...spec.containers, ...(spec.initContainers ?? [])];
  const example = target === undefined ? all[0] : all.find((container) => container.name === target);
  const image = flags.image ?? example?.image;
  const securityContext = debugProfiles[flags.profile];
  return {
    name,
    ...(image !== undefined && { image }),
    ...(flags.image === undefined && example?.imagePullPolicy !== undefined
      ? { imagePullPolicy: example.imagePullPolicy }
      : {}),
    ...(imagePullPolicy !== undefined && { imagePullPolicy }),
    ...(command.length > 0 && { command: [...command] }),
    ...(env && { env }),
    // Without stdinOnce the end of stdin would end the session before the container has answered.
    ...(stdin && { stdin, ...(!tty && { stdinOnce: true }) }),
    ...(tty && { tty }),
    ...(target !== undefined && { targetContainerName: target }),
    ...(securityContext && { securityContext }),
  };
}

/** As in generated names of Kubernetes: without vowels, and without digits that look like letters. */
function suffix(): string {
  const characters = 'bcdfghjklmnpqrstvwxz2456789';
  return Array.from({ length: 5 }, () => characters[randomInt(characters.length)]).join('');
}

function answered<T>(answer: T | undefined): T {
  if (answer !== undefined) return answer;
  throw new UserError('kubelet-ts exited', { hint: 'Start it again, then check the pod: kubelet-ts describe POD' });
}
