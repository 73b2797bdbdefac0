import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * `ip monitor` ends with its input, so it does not outlive an agent that is killed. Its output ends if it exits by
 * itself or is not installed.
 */
const script = 'ip monitor address route 2>/dev/null & exec >&-; read -r _; kill $!';

/**
 * Calls back for each change of this machine's addresses and routes, as the kernel reports it. Node has no netlink
 * sockets, so iproute2 reads them. Resolves when the signal is aborted, or if the program ends or cannot run.
 */
export async function monitorNetwork(onChange: () => void, signal: AbortSignal): Promise<void> {
  const child = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  const stop = (): void => {
    child.stdin.end();
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  child.stdout.on('data', onChange);
  await once(child.stdout, 'close');
  signal.removeEventListener('abort', stop);
  stop();
}
