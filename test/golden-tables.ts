import { readFileSync } from 'node:fs';

/** The cases of one table in test/golden/tables; its `description` says what goes in and comes out. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- a table has no type of its own, its reader knows it
export function loadTable<In, Out>(name: string): { in: In; out: Out }[] {
  const path = new URL(`./golden/tables/${name}.json`, import.meta.url);
  const table = JSON.parse(readFileSync(path, 'utf8')) as { cases: { in: In; out: Out }[] };
  return table.cases;
}
