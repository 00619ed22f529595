//! Files beside the store, which runs name by path: written once, never replaced.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tokio::io::AsyncWriteExt;

use super::state::UiError;

/// Writes a file under the first free name of `STEM.ENDING`, `STEM-2.ENDING`, ...; a file with the same contents serves as well.
pub async fn keep(
    contents: &[u8],
    folder: &Path,
    stem: &str,
    ending: &str,
) -> Result<PathBuf, UiError> {
    let mut number = 1;
    loop {
        let place = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{stem}{place}{ending}"));
        match tokio::fs::File::create_new(&path).await {
            Ok(mut file) => {
                file.write_all(contents).await?;
                file.flush().await?;
                return Ok(path);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if tokio::fs::read(&path).await.is_ok_and(|known| known == contents) {
                    return Ok(path);
                }
            }
            Err(error) => return Err(error.into()),
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_are_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let put = async |contents: &[u8]| {
            let path = keep(contents, folder.path(), "shop", ".har").await.unwrap();
            path.file_name().unwrap().to_string_lossy().into_owned()
        };
        assert_eq!(put(b"one").await, "shop.har");
        assert_eq!(put(b"two").await, "shop-2.har");
        assert_eq!(put(b"one").await, "shop.har");
        assert_eq!(std::fs::read(folder.path().join("shop.har")).unwrap(), b"one");
    }
}
