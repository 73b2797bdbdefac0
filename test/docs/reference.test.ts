import { expect, test } from 'vitest';
import { configurationFields } from '../../src/api/kubelet-configuration/schema.ts';
import { configurationFlags } from '../../src/node/options/configuration-flags.ts';
import { regenerated } from './generated-sections.ts';

/** After a change of the program: npx vitest run test/docs/reference.test.ts -u */
test.each(['commands', 'configuration', 'api'])('docs/reference/%s.md has what the program has', async (name) => {
  const file = new URL(`../../docs/reference/${name}.md`, import.meta.url).pathname;
  await expect(await regenerated(file)).toMatchFileSnapshot(file);
});

test('every flag is for a field, and no field has two', () => {
  const paths = configurationFields().map(({ path }) => path);
  const named = configurationFlags.map(([, field]) => field);
  expect(named.filter((field) => !paths.includes(field))).toEqual([]);
  expect(named.filter((field, index) => named.indexOf(field) !== index)).toEqual([]);
});
