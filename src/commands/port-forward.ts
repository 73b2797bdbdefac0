import type { Command } from 'commander';
import { podKey } from '../api/values/pod-names.ts';
import type { CommandDeps } from './io/deps.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import type { PodFlags } from './pod/open-pod.ts';

interface PortForwardFlags extends PodFlags {
  address: string;
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('port-forward'))
    .description('Forward local ports to ports of a pod')
    .usage('[options] POD [LOCAL:]REMOTE...')
    .argument('<pod>', 'name, name without the node, namespace/name, svc/NAME or a workload such as deploy/NAME')
    .argument('<ports...>', 'REMOTE, LOCAL:REMOTE, or :REMOTE for any free local port')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: all are searched)')
    .option('--address <addresses>', 'addresses of this machine to listen on, with commas between them', 'localhost')
    .addHelpText('after', examples)
    .action((podName: string, ports: string[], flags: PortForwardFlags) => portForward(deps, podName, ports, flags));
}

const examples = `
Examples:
  kubelet-ts port-forward web 8080                      port 8080 of this machine and of the pod
  kubelet-ts port-forward web 18080:80 :metrics         port 80 from 18080, and port metrics from a free port
  kubelet-ts port-forward svc/web 8080:80               the port of a pod to which port 80 of the Service leads
  kubelet-ts port-forward --address 0.0.0.0 web 80:80   for other machines as well

Runs until Ctrl-C. Continues with the new pod if the pod is replaced.`;

/** Never resolves. Runs until this program is stopped. Rejects if it cannot listen on the ports. */
async function portForward(
  deps: CommandDeps,
  podName: string,
  portTexts: readonly string[],
  flags: PortForwardFlags,
): Promise<void> {
  const [{ withPod }, { parsePorts, numbersIn, portOfPods }, { PodPorts }, { listenOnPorts }] = await Promise.all([
    import('./pod/open-pod.ts'),
    import('./forward/parse-ports.ts'),
    import('./forward/pod-ports.ts'),
    import('./forward/port-listeners.ts'),
  ]);
  const asked = parsePorts(portTexts);
  const print = (text: string): void => void deps.stdout.write(`${text}\n`);
  const warn = (text: string): void => void deps.stderr.write(`${text}\n`);
  // Keeps forwarding after a reader closes the output.
  for (const stream of [deps.stdout, deps.stderr]) stream.on('error', () => undefined);
  await withPod(deps, podName, flags, async ({ runtime, pod, service, declaredPod }) => {
    if (pod.sandbox.state !== 'SANDBOX_READY') {
      const title = podKey(pod);
      throw new UserError(`pod ${title} is not running`, { hint: `Show its state: kubelet-ts describe ${title}` });
    }
    const meant = asked.map((port) => (service === undefined ? port : portOfPods(service, port)));
    const declared = meant.some(({ remote }) => typeof remote === 'string') ? await declaredPod() : undefined;
    const ports = meant.map((port) => numbersIn(declared, port));
    const podPorts = new PodPorts({ runtime, print: warn }, pod, pod.sandbox.id);
    const open = podPorts.open.bind(podPorts);
    await listenOnPorts({ open, print, warn }, flags.address.split(','), ports);
    await new Promise<never>(() => undefined);
  });
}
