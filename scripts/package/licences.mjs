// Generates the licences and the bill of materials for the content of a bundle.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';

const root = join(import.meta.dirname, '../..');

/** Returns the package.json and the folder of each npm package whose code is in the bundle. */
async function packagesOf(metafile) {
  const paths = Object.keys(metafile.inputs).map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  const folders = [...new Set(paths.filter((path) => path !== undefined))].sort();
  return Promise.all(
    folders.map(async (path) => {
      const folder = join(root, path);
      return { folder, ...JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) };
    }),
  );
}

/** Returns our licence and those of Node and the packages in the bundle. */
export async function licences(metafile, nodeLicence) {
  const own = await readFile(join(root, 'LICENSE'), 'utf8');
  const node = await readFile(nodeLicence, 'utf8');
  const others = (await packagesOf(metafile)).map(async ({ folder, name, version, license }) => {
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? '' : await readFile(join(folder, file), 'utf8');
    return `${name} ${version}: ${license}\n\n${text}`;
  });
  return [own, node, ...(await Promise.all(others))].join(`\n${'-'.repeat(80)}\n`);
}

/** Returns a bill of materials in CycloneDX 1.6 format, as JSON. */
export async function billOfMaterials(metafile, node) {
  const own = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const { stdout: release } = await execa(node, ['--version']);
  const component = ({ name, version, license }) => ({
    type: 'library',
    name,
    version,
    licenses: [{ license: { name: license } }],
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  });
  const components = [
    { type: 'application', name: 'node', version: release.slice(1), purl: `pkg:generic/node@${release.slice(1)}` },
    ...(await packagesOf(metafile)).map(component),
  ];
  const metadata = { component: { type: 'application', name: own.name, version: own.version } };
  return `${JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, metadata, components }, null, 2)}\n`;
}
