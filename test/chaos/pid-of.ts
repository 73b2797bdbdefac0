import type { Agent } from '../e2e/agent.ts';

/**
 * Process id of a container or of what holds a sandbox, as containerd tells it beside a status; undefined when it
 * ended.
 */
export async function pidOf(agent: Agent, what: 'container' | 'sandbox', id: string): Promise<number | undefined> {
  const connection = await agent.connect();
  try {
    const { runtime } = connection;
    const { info } =
      what === 'container'
        ? await runtime.containerStatus({ containerId: id, verbose: true })
        : await runtime.podSandboxStatus({ podSandboxId: id, verbose: true });
    const { pid } = JSON.parse(info['info'] ?? '{}') as { pid?: number };
    return pid === 0 ? undefined : pid;
  } finally {
    connection.close();
  }
}
