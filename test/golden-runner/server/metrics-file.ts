import { once } from 'node:events';
import { WebSocket } from 'ws';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { comparingCase, type ReplayedCase } from '../replay-case.ts';
import { inNoTable } from '../replay.ts';
import { missingMetrics } from './missing-metrics.ts';
import { openRig, recordedFlags } from './open-rig.ts';
import type { RecordedAgent } from './recorded-agent.ts';
import { type ServerFile, serverFile } from './server-file.ts';

interface RecordedFamily {
  name: string;
  type: string;
  /** Not in a recording of 1.36. */
  help?: string;
  labels: string[];
  /** Of the Go library and its release. */
  kind?: string;
}

interface MetricsFile {
  setup: string;
  endpoints: Record<string, RecordedFamily[]>;
}

const manifests = {
  'web.yaml': `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: a
    image: registry.example/present:1
    readinessProbe: {exec: {command: ["true"]}}
    volumeMounts: [{name: cache, mountPath: /cache}]
  volumes: [{name: cache, emptyDir: {}}]
`,
  'done.yaml': `apiVersion: v1
kind: Pod
metadata: {name: done}
spec: {restartPolicy: Never, containers: [{name: d, image: "registry.example/present:1", command: [/fake, "exit:0:1"]}]}
`,
  'missing.yaml': `apiVersion: v1
kind: Pod
metadata: {name: missing}
spec:
  containers:
  - name: m
    image: registry.example/present:1
    envFrom: [{configMapRef: {name: missing}}]
`,
};

/** Each recorded metric exists with its type, help and labels, or docs/reference/api.md says why it does not. */
export const metricsFile: ServerFile = serverFile<MetricsFile>(['setup', 'endpoints'], replay);

function replay({ endpoints }: MetricsFile): ReturnType<ServerFile['replay']> {
  const rig = openRig(
    { flags: recordedFlags, manifests },
    {
      prepare: ({ runtime }) => {
        runtime.scriptStreams(() => 'http://127.0.0.1:1/exec/token');
        runtime.injectError('runPodSandbox', new Refusal(codes.unknown, 'scripted'), { times: 1 });
      },
      isReady: ({ engine }) =>
        engine.isReady('web-edge1') &&
        engine.phase('done-edge1') === 'Succeeded' &&
        engine.waitingReason('missing-edge1', 'm') === 'CreateContainerConfigError',
    },
  );
  const missing = missingMetrics();
  const pages = new Map<string, Promise<Map<string, Omit<RecordedFamily, 'name'>>>>();
  const pageOf = (path: string): Promise<Map<string, Omit<RecordedFamily, 'name'>>> => {
    const page = pages.get(path) ?? rig.agent().then((agent) => familiesOf(agent, path));
    pages.set(path, page);
    return page;
  };
  const caseOf = (path: string, { name, type, help, labels }: RecordedFamily): ReplayedCase => {
    const reason = missing.find(({ pattern }) => pattern.test(name))?.reason;
    const replayed = comparingCase(`${path} ${name}`, inNoTable({ path, name }), async () => {
      const { help: shown, ...found } = (await pageOf(path)).get(name) ?? {};
      return { expected: { type, help, labels }, actual: { ...found, help: help === undefined ? undefined : shown } };
    });
    const excused = { verdict: 'differs on purpose' as const, reason: `docs/reference/api.md: ${reason ?? ''}` };
    return reason === undefined ? replayed : { ...replayed, run: () => Promise.resolve(excused) };
  };
  return {
    cases: Object.entries(endpoints).flatMap(([path, families]) => families.map((family) => caseOf(path, family))),
    end: () => rig.end(),
  };
}

async function familiesOf({ ports }: RecordedAgent, path: string): Promise<Map<string, Omit<RecordedFamily, 'name'>>> {
  const scrape = async (): Promise<string> => (await fetch(`http://127.0.0.1:${ports.readonly}${path}`)).text();
  await execOverWebSocket(ports.secure);
  // Results of checks are there once they were asked for.
  await fetch(`http://127.0.0.1:${ports.readonly}/healthz`);
  // The first ones have logs measured, and are counted themselves.
  for (let before = 0; before < 6; before++) await scrape();
  const page = await scrape();
  const families = new Map<string, Omit<RecordedFamily, 'name'>>();
  for (const [, name = '', help = ''] of page.matchAll(/^# HELP (\S+) (.*)$/gm)) {
    const type = new RegExp(`^# TYPE ${name} (\\S+)$`, 'm').exec(page)?.[1] ?? '';
    families.set(name, { type, help, labels: labelsOf(page, name) });
  }
  return families;
}

/** Without a runtime behind it, it is counted and then fails. */
async function execOverWebSocket(port: number): Promise<void> {
  const url = `wss://127.0.0.1:${port}/exec/default/web-edge1/a?command=true&output=1`;
  const client = new WebSocket(url, ['v5.channel.k8s.io'], { rejectUnauthorized: false });
  client.on('error', () => undefined);
  await once(client, 'close');
}

/** Label names of the first series. Bounds of histograms are no labels. */
function labelsOf(page: string, name: string): string[] {
  const text = new RegExp(`^${name}(?:_bucket)?(?:\\{(.*)\\})? `, 'm').exec(page)?.[1] ?? '';
  const names = [...text.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)].map(([, label = '']) => label);
  return names.filter((label) => label !== 'le').sort();
}
