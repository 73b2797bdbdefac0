import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { containerDeclarationKey, podOfDeclaration } from './container-declaration.ts';
import { manifestsOf, noManifest } from './user-data.ts';

/** A metadata service's response. */
export interface MetadataAnswer {
  status: number;
  headers: Readonly<Record<string, unknown>>;
  body: Buffer;
}

/** Sends a request to the metadata service. `path` begins with a slash. */
export type RequestMetadata = (
  path: string,
  request: { method?: 'GET' | 'PUT'; headers?: Readonly<Record<string, string>> },
) => Promise<MetadataAnswer>;

/** Reads a machine's manifests from the metadata service of its cloud. `key` is the host in the URL. */
export type MetadataService = (ask: RequestMetadata, key: string) => Promise<Buffer>;

/** By scheme of the URL. */
export const metadataServices: ReadonlyMap<string, MetadataService> = new Map([
  ['gce:', readGCE],
  ['ec2:', readEC2],
  ['azure:', readAzure],
  ['openstack:', readOpenStack],
]);

/** Reads an attribute of the instance. Defaults to `user-data`, as for cloud-init. */
async function readGCE(ask: RequestMetadata, key: string): Promise<Buffer> {
  const flavor = { 'metadata-flavor': 'Google' };
  const attribute = key === '' ? 'user-data' : key;
  const answer = await ask(`/computeMetadata/v1/instance/attributes/${attribute}`, { headers: flavor });
  if (answer.headers['metadata-flavor'] !== 'Google') {
    throw noManifest('the answer is not from the metadata service of Google', 'Does this machine run in that cloud?');
  }
  const hint = `gcloud compute instances add-metadata VM --metadata-from-file ${attribute}=pods.yaml`;
  const body = bodyOf(answer, `the machine has no attribute ${attribute}`, hint);
  return attribute === containerDeclarationKey ? podOfDeclaration(body.toString('utf8')) : manifestsOf(body);
}

/** Reads the user data over IMDSv2, with a new token for each read that is valid for a minute. */
async function readEC2(ask: RequestMetadata): Promise<Buffer> {
  const tokenHeaders = { 'x-aws-ec2-metadata-token-ttl-seconds': '60' };
  const token = await ask('/latest/api/token', { method: 'PUT', headers: tokenHeaders });
  const noService = 'the metadata service is disabled for this machine';
  const tokenText = bodyOf(token, noService, 'Enable it: aws ec2 modify-instance-metadata-options').toString('latin1');
  if (!/^[\x21-\x7e]{1,4096}$/.test(tokenText)) {
    throw noManifest('the metadata service sent no token', 'Does this machine run in EC2?');
  }
  const answer = await ask('/latest/user-data', { headers: { 'x-aws-ec2-metadata-token': tokenText } });
  return manifestsOf(bodyOf(answer, noUserData, 'aws ec2 modify-instance-attribute --user-data'));
}

/** Reads `userData`, which is base64 and may change while the machine runs. The service does not offer `customData`. */
async function readAzure(ask: RequestMetadata): Promise<Buffer> {
  const path = '/metadata/instance/compute/userData?api-version=2021-01-01&format=text';
  const body = bodyOf(await ask(path, { headers: { metadata: 'true' } }), noUserData, azureHint);
  const text = body.toString('latin1').trim();
  if (text === '') throw noManifest(noUserData, azureHint);
  if (!/^[A-Za-z0-9+/\s]+={0,2}$/.test(text)) throw noManifest('the user data is not base64', azureHint);
  return manifestsOf(Buffer.from(text, 'base64'));
}

async function readOpenStack(ask: RequestMetadata): Promise<Buffer> {
  const answer = await ask('/openstack/latest/user_data', {});
  return manifestsOf(bodyOf(answer, noUserData, 'openstack server create --user-data FILE'));
}

const noUserData = 'the machine has no user data';
const azureHint = 'az vm update --user-data pods.yaml';

function bodyOf({ status, body }: MetadataAnswer, missing: string, hint: string): Buffer {
  if (status === 200) return body;
  if (status === 404) throw noManifest(missing, hint);
  const where = 'Does this machine run in that cloud, and is its metadata service enabled?';
  throw new OriginFailure('refused', `the metadata service answered ${status}`, where);
}
