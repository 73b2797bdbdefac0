import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { descriptionText } from '../../src/commands/describe/description-text.ts';
import { formatTable } from '../../src/text/format-table.ts';
import { jsonText } from '../../src/commands/io/json-text.ts';
import { nodeDiffText } from '../../src/commands/diff/node-diff-text.ts';
import { problemReport } from '../../src/commands/io/problem-report.ts';
import { listenOnPorts } from '../../src/commands/forward/port-listeners.ts';
import { defaultContainer, selectPod } from '../../src/commands/pod/select-pod.ts';
import { problemText } from '../../src/api/values/problem-text.ts';
import { yamlText } from '../../src/commands/io/yaml-text.ts';
import { makeContainer, makeRuntime, makeSandbox } from './runtime-listings.ts';

/** As the name of a file, the message of a container or the answer of a server may be. */
const hostile = 'a\u001b[31m\u202e\u009b\u2028b\rforged';
const shown = String.raw`a\x1b[31m\u202e\x9b\u2028b\rforged`;
const inJSON = String.raw`a\u001b[31m\u202e\u009b\u2028b\rforged`;

const problem = {
  origin: `/m/${hostile}`,
  severity: 'error',
  field: hostile,
  message: hostile,
  hint: hostile,
} as const;
const pod = { metadata: { namespace: 'default', name: hostile, uid: 'u1' }, spec: { containers: [{ name: hostile }] } };

/** The note of `logs` and `exec` about a default container that is no container. */
async function noteOnDefault(): Promise<string> {
  const annotations = { 'kubectl.kubernetes.io/default-container': hostile };
  const runtime = makeRuntime(
    [makeSandbox({ name: 'web', annotations })],
    [makeContainer({ id: 'app-0', name: 'app' })],
  );
  return defaultContainer(await selectPod(runtime, { pod: 'web', nodeName: 'n' }, { pods: [], sources: [] })).note;
}

/** The warning of `port-forward` about a connection that the runtime refuses. */
async function warningOnPort(): Promise<string> {
  const open = (): Promise<never> => Promise.reject(new Error(hostile));
  let warn: (text: string) => void = () => undefined;
  const warned = new Promise<string>((resolve) => (warn = resolve));
  const deps = {
    open,
    print: () => undefined,
    warn: (text: string) => {
      warn(text);
    },
  };
  const listening = await listenOnPorts(deps, ['127.0.0.1'], [{ local: 0, remote: 80 }]);
  const client = connect({ host: '127.0.0.1', port: listening.localPorts[0] ?? 0 }).on('error', () => undefined);
  const text = await warned;
  client.destroy();
  listening.close();
  return text;
}

test.each<[exit: string, text: () => string | Promise<string>, shown: string]>([
  ['a table', () => formatTable([['NAME'], [hostile]]), shown],
  ['a problem on a line', () => problemText(problem, 0), shown],
  [
    'a problem of several lines',
    () => problemReport(problem, { textOf: () => undefined, folder: '/', isColoured: false }),
    shown,
  ],
  ['JSON', () => jsonText({ [hostile]: hostile }, 2), inJSON],
  ['YAML', () => yamlText({ message: hostile }), String.raw`\e[31m\u202e`],
  [
    'a description',
    () =>
      descriptionText(
        { namespace: 'default', name: hostile, pods: [{ pod: { ...pod, status: { message: hostile } } }], history: [] },
        0,
      ),
    shown,
  ],
  ['a note on the default container', noteOnDefault, shown],
  ['a warning of a forwarded port', warningOnPort, shown],
  [
    'a comparison',
    () =>
      nodeDiffText(
        {
          pods: [
            {
              action: 'restart',
              namespace: 'default',
              name: hostile,
              because: hostile,
              containers: [],
              differences: [{ path: hostile, current: hostile, desired: hostile }],
            },
          ],
          configObjects: [],
        },
        false,
      ),
    shown,
  ],
])('%s shows control characters and sends none', async (_exit, text, expected) => {
  const printed = await text();
  expect(printed.replaceAll(/[\P{C}\n]/gu, '')).toBe('');
  expect(printed).toContain(expected);
});
