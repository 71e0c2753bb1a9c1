"""Makes the source of a pipeline from data that your program holds, or from paths.

recognise     what an object is: files, Arrow tables or rows of Python
columns       which types its columns have, and their conversion
held          the three forms of data, and how columns of them become files
hugging_face  data sets of the library `datasets`
hub           data sets of the Hugging Face Hub, by their names
store         the folder in which such files are kept
"""

from .recognise import as_source as as_source
