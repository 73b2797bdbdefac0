// Bundles a module that runs on a thread of its own into a text: generate-thread.mjs SOURCE OUTPUT NAME
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { build } from 'esbuild';
import { bundleOptions } from './bundle-options.mjs';

const [source, output, name] = process.argv.slice(2);
const { minifySyntax, minifyWhitespace, platform, target } = bundleOptions;
const { outputFiles } = await build({
  ...{ minifySyntax, minifyWhitespace, platform, target },
  entryPoints: [source],
  bundle: true,
  write: false,
  format: 'cjs',
  legalComments: 'none',
});
const text = JSON.stringify(outputFiles[0].text);
writeFileSync(output, `// Made by scripts/generate-thread.mjs. Do not edit.\nexport const ${name} = ${text};\n`);
