import { humanDuration } from '../api/values/duration.ts';
import type { EngineSnapshot } from '../engine/view/snapshot.ts';
import { UserError } from '../errors.ts';
import { fetchSnapshot } from '../server/control/control-client.ts';
import { noAgent } from '../server/control/no-agent.ts';
import { controlSocketPath } from '../server/control/socket-paths.ts';
import { formatTable } from '../text/format-table.ts';
import { visible } from '../text/visible-text.ts';
import type { CommandDeps } from './io/deps.ts';
import { patientSocket } from './io/patient-socket.ts';
import { objectsFormat } from './output/objects-format.ts';

/** True for kubectl's words for nodes. */
export const isNodeKind = (word = ''): boolean => /^(no|nodes?)(\/[^/]+)?$/.test(word);

/** Prints this node in the columns of `kubectl get nodes`. AGE is the time since the agent started. */
export async function listNode(
  [word = '', ...others]: readonly string[],
  { rootDir, output, headers }: { rootDir: string; output: string; headers: boolean },
  { stdout, stderr }: CommandDeps,
): Promise<void> {
  const snapshot = await fetchSnapshot(patientSocket(controlSocketPath(rootDir), stderr));
  if (snapshot === undefined) throw noAgent(rootDir, { consequence: 'so the state of the node is unknown' });
  const { nodeName, startedAt, version = '<unknown>', runtime } = snapshot;
  const names = [...word.split('/').slice(1), ...others];
  const unknown = names.find((name) => name !== nodeName);
  if (unknown !== undefined) throw new UserError(`no node "${visible(unknown)}": this is ${visible(nodeName)}`);
  switch (output) {
    case 'name':
      stdout.write(`${visible(`node/${nodeName}`)}\n`);
      return;
    case 'table':
    case 'wide': {
      const isWide = output === 'wide';
      const header = ['NAME', 'STATUS', 'AGE', 'VERSION', ...(isWide ? ['CONTAINER-RUNTIME'] : [])];
      const age = humanDuration(Date.now() - startedAt);
      const row = [
        nodeName,
        statusOf(snapshot),
        age,
        version,
        ...(isWide ? [`${runtime.name}://${runtime.version}`] : []),
      ];
      stdout.write(await formatTable([...(headers ? [header] : []), row.map(visible)]));
      return;
    }
    default:
      stdout.write(await (await objectsFormat(output))([shownNode(snapshot)], { isSingle: names.length > 0, headers }));
  }
}

const isReady = ({ runtime }: EngineSnapshot): boolean =>
  runtime.error === undefined && runtime.networkError === undefined;

const statusOf = (snapshot: EngineSnapshot): string =>
  [isReady(snapshot) ? 'Ready' : 'NotReady', ...snapshot.pressures.map(({ type }) => type)].join(',');

/** The node as Kubernetes shows it, as far as the agent knows it. kubelet: nodestatus/setters.go */
function shownNode(snapshot: EngineSnapshot): object {
  const { nodeName, runtime, pressures } = snapshot;
  const message = runtime.error ?? runtime.networkError ?? 'kubelet is posting ready status';
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: nodeName },
    status: {
      conditions: [
        ...pressures.map((one) => ({ type: one.type, status: 'True', message: one.message })),
        {
          type: 'Ready',
          status: isReady(snapshot) ? 'True' : 'False',
          reason: isReady(snapshot) ? 'KubeletReady' : 'KubeletNotReady',
          message,
        },
      ],
      nodeInfo: { containerRuntimeVersion: `${runtime.name}://${runtime.version}` },
    },
  };
}
