"""Makes the source of a pipeline from data that your program holds, or from paths.

recognise     finds out what an object is: files, Arrow tables or rows of Python
columns       finds the types of the columns, and converts values to them
held          the three forms of data, and how each form becomes files
hugging_face  data sets of the library `datasets`
hub           data sets of the Hugging Face Hub, by name
store         the folder that keeps these files
"""

from .recognise import as_source as as_source
