import { defaultFeatureGates } from '../api/values/feature-gates.ts';
import { loadManifests } from '../api/objects/load-manifests.ts';
import { readLastGood } from '../engine/config/last-good/read-last-good.ts';
import { podUIDHash } from '../engine/config/load-manifest.ts';
import { publicNames, secretsOf } from '../engine/outgoing/declared-secrets.ts';
import { SecretValues } from '../engine/outgoing/secret-values.ts';

/** The values of the Secrets that the last agent of this root-dir knew, for when none runs. Rejects when they may not be read. */
export async function secretsOnDisk(rootDir: string): Promise<SecretValues> {
  const secrets = new SecretValues();
  const node = { nodeName: '', featureGates: defaultFeatureGates, hash: podUIDHash };
  for (const { body, source, where } of await readLastGood(rootDir)) {
    const { configObjects, pods } = loadManifests(body, { ...node, origin: where, source });
    secrets.set(`${source} ${where}`, secretsOf(configObjects));
    secrets.setPublicNames(`${source} ${where}`, publicNames(pods));
  }
  return secrets;
}
