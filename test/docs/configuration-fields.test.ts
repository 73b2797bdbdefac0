import { format, resolveConfig } from 'prettier';
import { expect, test } from 'vitest';
import { type ConfigurationField, configurationFields } from '../../src/api/kubelet-configuration/schema.ts';
import { defaultText } from '../../src/node/options/add-configuration-flags.ts';
import { configurationFlags } from '../../src/node/options/configuration-flags.ts';
import { flagsWithoutEffect } from '../../src/node/options/flags-without-effect.ts';

const file = new URL('../../docs/reference/configuration-fields.md', import.meta.url).pathname;

/** After a change of the tables: vitest run -u test/docs/configuration-fields.test.ts */
test('docs/reference/configuration-fields.md is the table of fields', async () => {
  const style = await resolveConfig(file);
  await expect(await format(page(), { ...style, filepath: file })).toMatchFileSnapshot(file);
});

test('every flag is for a field, and no field has two', () => {
  const paths = configurationFields().map(({ path }) => path);
  const named = configurationFlags.map(([, field]) => field);
  expect(named.filter((field) => !paths.includes(field))).toEqual([]);
  expect(named.filter((field, index) => named.indexOf(field) !== index)).toEqual([]);
});

function page(): string {
  const fields = configurationFields();
  return `# Configuration fields

A test generates this page from the tables in \`src/api/kubelet-configuration/fields.ts\` and \`src/node/options\`. For the order
of precedence, see [configuration.md](configuration.md).

## With an effect

${table(
  ['field', 'flag', 'default', 'what it does'],
  fields.filter(({ does }) => does !== undefined).map((field) => [...row(field), field.does ?? '']),
)}

## Without an effect here

${table(
  ['field', 'flag', 'why'],
  fields
    .filter(({ without }) => without !== undefined)
    .map((field) => [...row(field).slice(0, 2), field.without ?? '']),
)}

## Flags without an effect here

They set no field, and are accepted with a warning.

${table(
  ['flag', 'why'],
  flagsWithoutEffect.map(([flags, reason]) => [code(longName(flags)), reason]),
)}
`;
}

const specialFlags: Readonly<Record<string, string>> = {
  containerRuntimeEndpoint: '--container-runtime-endpoint',
  staticPodPath: '--pod-manifest-path',
  staticPodURL: '--manifest-url',
  staticPodURLHeader: '--manifest-url-header',
};

function row(field: ConfigurationField): [string, string, string] {
  const flags = configurationFlags.find(([, path]) => path === field.path)?.[0];
  const flag = flags === undefined ? specialFlags[field.path] : longName(flags);
  return [code(field.path), code(flag ?? ''), code(defaultText(field))];
}

const longName = (flags: string): string => /--[a-z0-9-]+/.exec(flags)?.[0] ?? flags;
const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return lines.join('\n');
}
