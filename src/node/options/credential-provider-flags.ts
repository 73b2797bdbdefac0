import { UserError } from '../../errors.ts';

/** The flags of credential providers: their file, and the folder of their programs. Empty for none. */
export interface CredentialProviderFlags {
  imageCredentialProviderConfig: string;
  imageCredentialProviderBinDir: string;
}

/** Throws a `UserError` if one flag of credential providers is set without the other. */
export function refuseHalfOfCredentialProviders(flags: CredentialProviderFlags): void {
  const { imageCredentialProviderConfig: file, imageCredentialProviderBinDir: folder } = flags;
  if ((file === '') === (folder === '')) return;
  const [missing, given] = file === '' ? [configFlag, binDirFlag] : [binDirFlag, configFlag];
  throw new UserError(`${configFlag} and ${binDirFlag} need each other`, {
    hint: `Add ${missing}, or leave out ${given}.`,
  });
}

const configFlag = '--image-credential-provider-config';
const binDirFlag = '--image-credential-provider-bin-dir';
