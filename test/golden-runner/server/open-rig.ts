import type { World } from '../../component/world.ts';
import { describePods } from './described-node.ts';
import { RecordedAgent, type AgentSetup } from './recorded-agent.ts';
import { scriptPods, writeLogs } from './recorded-pods.ts';

/** The flags of a kubelet that lets every client in, on an address of its own. */
export const recordedFlags: readonly string[] = [
  ...['--pod-manifest-path={dir}', '--root-dir={root}', '--hostname-override=edge1', '--cgroup-driver=cgroupfs'],
  ...['--enforce-node-allocatable=', '--fail-swap-on=false', '--address=127.0.0.1', '--node-ip={hostIP}'],
  ...['--cert-dir={base}/pki', '--resolv-conf={base}/resolv.conf', '--anonymous-auth=true'],
  ...['--authorization-mode=AlwaysAllow', '--read-only-port=10255'],
];

/** One agent for the cases of a file, started when the first one asks and when its pods are ready. */
export function openRig(
  setup: AgentSetup,
  { prepare, isReady }: { prepare?: (world: World) => void; isReady?: (agent: RecordedAgent) => boolean } = {},
): { agent: () => Promise<RecordedAgent>; end: () => Promise<void> } {
  let started: Promise<RecordedAgent> | undefined;
  const start = async (): Promise<RecordedAgent> => {
    const agent = await RecordedAgent.start(setup, (world) => {
      scriptPods(world, Object.values(setup.manifests));
      prepare?.(world);
    });
    await agent.world.until(() => isReady?.(agent) ?? agent.engine.isReady('web-edge1'));
    await describePods(agent);
    await writeLogs(agent, {});
    await agent.serve();
    return agent;
  };
  return {
    agent: () => (started ??= start()),
    end: async () => {
      await (await started)?.end();
    },
  };
}
