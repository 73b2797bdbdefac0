import type { Container, Pod } from '../../../src/api/types.ts';
import { AllocationError } from '../../../src/engine/container-manager/topology-manager/allocation-error.ts';
import type { HintProvider } from '../../../src/engine/container-manager/topology-manager/hint-provider.ts';
import type { NUMANode } from '../../../src/engine/container-manager/topology-manager/numa-info.ts';
import type { ResourceHints } from '../../../src/engine/container-manager/topology-manager/topology-hint.ts';
import {
  TopologyManager,
  type TopologySettings,
} from '../../../src/engine/container-manager/topology-manager/topology-manager.ts';
import { errorMessage } from '../../../src/errors.ts';
import { recordedAffinities, type RecordedHint, recordedPods, readHint } from '../manager-records.ts';
import { tableAdapter } from '../table-adapter.ts';

type RecordedHints = Record<string, RecordedHint[] | null> | null;

/** The answers of one provider in an admission. */
interface Script {
  pod: RecordedHints;
  containers: Record<string, RecordedHints>;
  allocateError?: Record<string, { text: string; type?: string }>;
}

type Step =
  | { op: 'admit'; pod: Pod | string; providers: Script[] }
  | { op: 'create'; pod: Pod | string; container: string; id: string }
  | { op: 'stopped'; id: string }
  | { op: 'affinity'; pod: Pod | string };

interface In {
  machine: { nodes: NUMANode[] };
  topology: Partial<TopologySettings> & Pick<TopologySettings, 'policy' | 'scope'>;
  steps: Step[];
}

export const topologyManager = tableAdapter<In>('topology-manager', ({ machine, topology, steps }) => {
  const pods = recordedPods();
  const asked = { scripts: [] as Script[], calls: [] as string[] };
  let manager: TopologyManager;
  try {
    manager = new TopologyManager({ settings: { options: {}, ...topology }, nodes: machine.nodes });
  } catch (error) {
    return { start: { failed: 'topology', error: errorMessage(error) } };
  }
  const providers = Math.max(0, ...steps.map((step) => (step.op === 'admit' ? step.providers.length : 0)));
  for (let index = 0; index < providers; index++) manager.addHintProvider(scripted(index, asked));
  const outs = steps.map((step) => {
    asked.calls = [];
    switch (step.op) {
      case 'admit': {
        const pod = pods.named(step.pod);
        asked.scripts = step.providers;
        const { admit, ...refusal } = manager.admit(pod);
        const calls = asked.calls.length > 0 ? { calls: asked.calls } : {};
        return { admit, ...refusal, affinity: recordedAffinities(manager, pod), ...calls };
      }
      case 'create':
        manager.addContainer(pods.named(step.pod).metadata.uid, step.container, step.id);
        return {};
      case 'stopped':
        manager.removeContainer(step.id);
        return { error: null };
      case 'affinity':
        return { affinity: recordedAffinities(manager, pods.named(step.pod)) };
    }
  });
  return { start: { ok: true }, ...(outs.length > 0 && { steps: outs }) };
});

function scripted(index: number, asked: { scripts: Script[]; calls: string[] }): HintProvider {
  const note = (call: string): void => {
    asked.calls.push(`${index} ${call}`);
  };
  return {
    hints: (_pod: Pod, { name }: Container) => {
      note(`hints ${name}`);
      return readHints(asked.scripts[index]?.containers[name]);
    },
    podHints: () => {
      note('podHints');
      return readHints(asked.scripts[index]?.pod);
    },
    allocate: (_pod: Pod, { name }: Container) => {
      note(`allocate ${name}`);
      const { text, type } = asked.scripts[index]?.allocateError?.[name] ?? {};
      if (text !== undefined) throw type === undefined ? new Error(text) : new AllocationError(type, text);
    },
  };
}

function readHints(recorded: RecordedHints | undefined): ResourceHints | undefined {
  if (recorded === null || recorded === undefined) return undefined;
  return new Map(Object.entries(recorded).map(([resource, hints]) => [resource, hints?.map(readHint)]));
}
