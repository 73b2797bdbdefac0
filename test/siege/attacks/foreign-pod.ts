import { once } from 'node:events';
import { join } from 'node:path';
import type { RuntimeService } from '../../../src/cri/runtime-service.ts';
import { busybox } from '../../e2e/manifests.ts';
import type { Attack, Siege } from '../attack.ts';
import { repeat } from './repeat.ts';

const labels = {
  'io.kubernetes.pod.name': 'calm-0-edge1',
  'io.kubernetes.pod.namespace': 'default',
  'io.kubernetes.pod.uid': 'f0e1d2c3-foreign',
  'io.kubernetes.container.name': 'main',
};

/**
 * Somebody else's pod in the same runtime, with the labels of a kubelet and the name of a pod of ours. It stays as it
 * is.
 */
export const foreignPod: Attack = {
  name: 'foreign-pod',
  carryOn: async (siege) => {
    const connection = await siege.agent.connect();
    const { runtime } = connection;
    const { podSandboxId, containerId } = await startForeignPod(siege, runtime);
    connection.close();
    await repeat(siege, 3_600_000, () => Promise.resolve());
    if (!siege.signal.aborted) await once(siege.signal, 'abort');
    const after = await siege.agent.connect();
    const filter = { state: { state: 'CONTAINER_RUNNING' }, podSandboxId } as const;
    const { containers } = await after.runtime.listContainers({ filter });
    await after.runtime.stopPodSandbox({ podSandboxId });
    await after.runtime.removePodSandbox({ podSandboxId });
    after.close();
    if (containers[0]?.id !== containerId) throw new Error('the foreign pod was stopped');
  },
};

async function startForeignPod(
  { folder }: Siege,
  runtime: RuntimeService,
): Promise<{ podSandboxId: string; containerId: string }> {
  const config = {
    metadata: { name: 'calm-0-edge1', namespace: 'default', uid: labels['io.kubernetes.pod.uid'] },
    labels,
    logDirectory: join(folder, 'foreign-logs'),
    linux: { securityContext: { namespaceOptions: { network: 'NODE' } } },
  } as const;
  const { podSandboxId } = await runtime.runPodSandbox({ config });
  const { containerId } = await runtime.createContainer({
    podSandboxId,
    sandboxConfig: config,
    config: {
      metadata: { name: 'main' },
      image: { image: busybox },
      command: ['sleep', '36000'],
      labels,
      logPath: 'main.log',
    },
  });
  await runtime.startContainer({ containerId });
  return { podSandboxId, containerId };
}
