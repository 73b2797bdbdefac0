import { expect, test } from 'vitest';
import { descriptionText } from '../../src/commands/describe/description-text.ts';
import { formatTable } from '../../src/commands/io/format-table.ts';
import { jsonText } from '../../src/commands/io/json-text.ts';
import { nodeDiffText } from '../../src/commands/diff/node-diff-text.ts';
import { problemReport } from '../../src/commands/io/problem-report.ts';
import { problemText } from '../../src/api/values/problem-text.ts';
import { yamlText } from '../../src/commands/io/yaml-text.ts';

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
